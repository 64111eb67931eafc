// SPDX-License-Identifier: BSD-2-Clause
#include "cli/leaks/leaks_watcher.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <utility>

#include "cli/files/output_file.h"
#include "cli/runs/durations.h"
#include "cli/runs/summary.h"
#include "collapse/symbolize/symbolize.h"
#include "probes/run/live_run.h"
#include "probes/run/memory_plan.h"
#include "probes/run/run_notes.h"

namespace memflame {
namespace {

// Stacks whose names are kept from report to report.
constexpr size_t most_names = 1 << 16;
// --trace: text that may wait for a report to be written.
constexpr size_t most_waiting_text = 16 << 20;

std::string age_filter(uint64_t older_ns) {
  return "filtered: only blocks that are at least " + std::to_string(older_ns / 1'000'000) +
         " ms old (--older)";
}

std::vector<const LiveStack*> old_stacks(const Snapshot& snapshot) {
  std::vector<const LiveStack*> stacks;
  for (const LiveStack& stack : snapshot.stacks)
    if (is_old(stack)) stacks.push_back(&stack);
  return stacks;
}

}  // namespace

LeaksWatcher::LeaksWatcher(const LeaksOptions& options, const Request& request)
    : options_(options),
      request_(request),
      verdicts_(request.probe.ages && (request.format == nullptr || options.gate),
                options.verdicts),
      gate_(options.gate),
      next_(options.interval) {}

void LeaksWatcher::begin(LiveRun&) {
  start_ns_ = monotonic_ns();
  if (request_.format == nullptr || options_.trace)
    lines_ = open_lines(request_.format == nullptr ? request_.output : "", request_.readers);
  writer_.emplace(options_, request_, lines_.get());
}

bool LeaksWatcher::look(LiveRun& run, double seconds) {
  if (!calls_.empty() && (writer_->is_idle() || calls_.size() > most_waiting_text))
    writer_->write(std::exchange(calls_, {}));
  verdicts_.looks().look(run, seconds);
  if (seconds < next_) return true;
  const bool is_last = reports_ + 1 == options_.count;
  if (is_last && options_.reachable) return false;  // end() writes it, after the scan
  if (!is_last && writer_->is_busy())
    ++left_out_;
  else
    report(run, seconds, is_last);
  while (next_ <= seconds) next_ += options_.interval;
  return !is_last;
}

// SIGUSR1: a report in addition to those of the interval, which continue.
void LeaksWatcher::asked(LiveRun& run, double seconds) {
  if (request_.format != nullptr && (request_.output.empty() || request_.output == "-")) {
    std::cerr << "memflame: SIGUSR1: standard output gets the last picture only; add -o FILE\n";
    return;
  }
  if (writer_->is_busy()) {
    std::cerr << "memflame: SIGUSR1: a report is being written; send it again\n";
    return;
  }
  report(run, seconds, false);
  --reports_;
}

void LeaksWatcher::end(LiveRun& run, double seconds) {
  const bool has_last = options_.count != 0 && reports_ >= options_.count;
  end_s_ = seconds;
  if (!has_last || gate_) verdicts_.looks().end(run);
  if (!has_last) report(run, seconds, true);
  if (gate_ && options_.reachable) add_reach_by_track(run);
  writer_->wait();
  if (!calls_.empty()) writer_->write(std::exchange(calls_, {}));
}

void LeaksWatcher::report(LiveRun& run, double seconds, bool is_last) {
  ++reports_;
  LeaksLook look = take_look(run, seconds);
  // The last report's picture is drawn from the whole recording, after the run (probe_cmd.cc).
  const bool draws = !is_last && !request_.output.empty() && request_.output != "-";
  if (request_.format == nullptr || draws)
    writer_->take(std::move(look));
  else
    calls_ = std::move(look.lines);
}

LeaksLook LeaksWatcher::take_look(LiveRun& run, double seconds) {
  LeaksLook look;
  look.clock = clock_text();
  look.seconds = seconds;
  snapshot_ = std::make_shared<const Snapshot>(
      run.snapshot({.older_ns = options_.older_ns, .blocks = options_.show_blocks}));
  look.snapshot = snapshot_;
  look.lines = std::exchange(calls_, {});
  choose_stacks(run, look);
  if (request_.format != nullptr || !look.unnamed.empty() || !look.unjudged.empty())
    look.recording = run.recording_of({}, options_.by_count);
  look.losses = snapshot_->losses;
  look.notes = filters_in_words(request_.probe);
  if (request_.format != nullptr && options_.older_ns != 0)
    look.notes.push_back(age_filter(options_.older_ns));
  for (const std::string& note : snapshot_->deaths) look.notes.push_back(note);
  said_ = look.notes;
  look.left_out = std::exchange(left_out_, 0);
  return look;
}

// Chooses what the report shows, and what must be named for it.
void LeaksWatcher::choose_stacks(const LiveRun& run, LeaksLook& look) {
  if (request_.format != nullptr) {
    look.unnamed = old_stacks(*snapshot_);
    for (const LiveStack* stack : look.unnamed) look.judged.shown.push_back({stack, std::nullopt});
    return;
  }
  look.judged = verdicts_.ranked(run, *snapshot_, options_.order, options_.top);
  look.forget = named_.size() > most_names || judged_.size() > most_names;
  if (look.forget) {
    named_.clear();
    judged_.clear();
  }
  for (const auto& [stack, verdict] : look.judged.shown)
    if (named_.insert(stack->key).second) look.unnamed.push_back(stack);
  for (const LiveStack& stack : snapshot_->stacks)
    if (stack.stack.stop != StopReason::complete && !named_.contains(stack.key) &&
        (stack.old.bytes != 0 || stack.old.blocks != 0) && judged_.insert(stack.key).second)
      look.unjudged.push_back(&stack);
}

// Blocks of any age: a younger one without a pointer is lost, too.
void LeaksWatcher::add_reach_by_track(const LiveRun& run) {
  for (const LiveStack& stack : snapshot_->stacks) {
    const TrackId track = run.track_of(stack.key);
    if (track.index >= reach_.size()) reach_.resize(track.index + 1);
    reach_[track.index] += stack.live_reach;
  }
}

void LeaksWatcher::add_scans(CheckedRun& checked) const {
  ReachSums sums;
  for (const ReachSums& each : reach_) sums += each;
  if (sums.unknown.blocks != 0)
    checked.doubts.push_back("cannot tell whether pointers lead to " + in_words(sums.unknown) +
                             ": " + sums.why_unknown);
  for (const ScanFacts& scan : snapshot_->scanned)
    if (!scan.is_exact || !scan.why_not.empty() || scan.bytes_unread != 0)
      checked.doubts.push_back(in_words(scan));
}

// Names are looked up for all stacks that ever had a block, not only for those that are shown.
void LeaksWatcher::check(const Recording& recording) {
  History& tables = verdicts_.looks().tables();
  Recording named = std::move(tables.recording);
  named.modules = recording.modules;
  named.spaces = recording.spaces;
  named.scripts = recording.scripts;
  named.shared_names = recording.shared_names;
  symbolize(named, {.debug_servers = false, .memory_bytes = free_memory()});
  CheckedRun checked{.source = meta_of(request_).command,
                     .seconds = end_s_,
                     .sampling = snapshot_->sampling,
                     .notes = filters_in_words(request_.probe),
                     .losses = recording.losses};
  if (options_.reachable) add_scans(checked);
  const std::vector<NamedVerdict> stacks =
      named_verdicts(*verdicts_.looks().ledger(), tables.tracks, std::move(named),
                     options_.verdicts, checked.losses, reach_);
  has_failed_ = !passes(*gate_, stacks, checked, options_.top, request_.readers);
}

// What is only known at the end: processes and files that were not measured.
void LeaksWatcher::say_missing(const Recording& recording) const {
  if (recording.losses.lost_events() == 0) return;
  std::vector<std::string> notes = recording.meta.notes;
  std::erase_if(notes,
                [this](const std::string& note) { return std::ranges::count(said_, note) != 0; });
  write_missing(std::cerr, notes, recording.losses);
}

bool LeaksWatcher::wants_results(Recording& recording) {
  if (!calls_.empty()) writer_->write(std::exchange(calls_, {}));  // read at the very end
  const bool writes = request_.format != nullptr || !request_.summary.empty() || request_.verbose ||
                      (request_.probe.own && request_.probe.own->wants_summary());
  if (!writes) say_missing(recording);
  if (gate_) check(recording);
  const bool sampled = !recording.types.empty() && recording.types[0].variance != no_column;
  show_live(recording, old_stacks(*snapshot_), options_.by_count, sampled);
  if (options_.older_ns != 0) recording.meta.notes.push_back(age_filter(options_.older_ns));
  return writes;
}

void LeaksWatcher::called(const bpf::call_record& call, const std::string& function) {
  calls_ += call_text(call, function, start_ns_);
}

}  // namespace memflame
