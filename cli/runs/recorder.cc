// SPDX-License-Identifier: BSD-2-Clause
#include "cli/runs/recorder.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <utility>

#include "cli/files/recording_file.h"
#include "collapse/fold/fold.h"
#include "collapse/history/stack_labels.h"
#include "collapse/history/views.h"
#include "collapse/verdicts/suppressions.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/units.h"
#include "probes/run/live_run.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

// Each look writes the marks since the look before.
constexpr size_t most_waiting_marks = 1000;
constexpr double longest_wait = 2;  // seconds for one batch of events
constexpr size_t most_waiting_bytes = size_t{64} << 20U;
constexpr size_t most_told = 5;  // stacks with a verdict on stderr

}  // namespace

Recorder::Recorder(const RecordOptions& options, const Request& request)
    : request_(request),
      make_file_(options.file),
      learn_(options.learn),
      axis_(options.interval, request.probe.ages),
      limits_(options.limits),
      event_options_(options.events) {}

void Recorder::begin(LiveRun&) {
  file_ = make_file_ ? make_file_() : recording_file(request_.output, request_.readers);
  name_ = file_->name();
}

bool Recorder::look(LiveRun& run, double seconds) {
  if (is_writing()) {
    // A program that allocates faster than events are written waits for them, but not for a disk.
    if (seconds - writing_since_ > longest_wait) run.wait_no_more();
    return true;
  }
  finish_writing(true);
  let_go(run);
  const bool takes_events = writer_ && has_room();
  if (writer_ && !takes_events) run.wait_no_more();
  run.read_pss();
  std::optional<Look> look = axis_.look(run, seconds);
  if (look || (takes_events && run.waiting_events() >= events_of_a_chunk)) {
    EventBatch events = takes_events ? take_events(run) : EventBatch{};
    if (look && (takes_events || run.waiting_events() == 0))
      leaving_ = run.hand_over(axis_.tables());
    add(std::move(look), std::move(events));
  }
  writing_since_ = seconds;
  return true;
}

// What was leaving has been written by now.
void Recorder::let_go(LiveRun& run) {
  const Leaving left = std::exchange(leaving_, {});
  if (left.empty()) return;
  run.let_go(left, axis_.tables());
  if (ledger_) ledger_->forget(left.tracks);
  for (const TrackId track : left.tracks)
    if (const size_t place = track.index - 1; place < last_.rows.size())
      std::ranges::fill(last_.rows.values_of(place), 0);
}

// While much waits to be written, events stay where they are, and become a gap if they are many.
bool Recorder::has_room() const { return writer_->waiting() <= most_waiting_bytes; }

EventBatch Recorder::take_events(LiveRun& run) {
  EventBatch batch = run.take_events(axis_.tables());
  lost_events_ += batch.lost;
  return batch;
}

bool Recorder::is_writing() const {
  return writing_.valid() &&
         writing_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
}

// The writer keeps what it could not write, so a disk that is full for a while costs nothing.
void Recorder::finish_writing(bool may_retry) {
  if (!writing_.valid()) return;
  std::string problem;
  try {
    writing_.get();
  } catch (const Error& error) {
    if (!may_retry) throw;
    problem = error.what();
  }
  if (problem.empty() != problem_.empty())
    std::cerr << (request_.probe.status_line ? "\r\033[K" : "") << "memflame: "
              << (problem.empty() ? name_ + " can be written again"
                                  : problem + "; memflame goes on and tries again")
              << "\n";
  problem_ = std::move(problem);
}

void Recorder::asked(LiveRun&, double seconds) {
  waiting_marks_.push_back(
      {static_cast<uint64_t>(seconds * 1e9), "SIGUSR1, " + std::to_string(++marks_)});
}

void Recorder::mark(const std::string& name, double seconds) {
  if (waiting_marks_.size() >= most_waiting_marks)
    throw Error("there are too many marks since the last look; try again in a second");
  waiting_marks_.push_back({static_cast<uint64_t>(seconds * 1e9), name});
}

std::future<std::string> Recorder::picture(LiveRun&, double) {
  if (request_.output.empty()) throw Error("this run has no pictures: its page shows every moment");
  throw Error(
      "a recording holds every moment: mark this one, and draw it from the file with "
      "'memflame render " +
      request_.output + " --at TIME'");
}

void Recorder::end(LiveRun& run, double) {
  finish_writing(true);
  let_go(run);
  Look look = axis_.last(run);
  const uint64_t time_ns = look.time_ns;
  add(std::move(look), take_events(run));
  finish_writing(false);
  if (ledger_) ledger_->end(time_ns);
}

void Recorder::add(std::optional<Look> look, EventBatch events) {
  const History& tables = axis_.tables();
  const Recording& recording = tables.recording;
  if (!writer_) {
    Meta meta = meta_of(request_);
    if (look) meta.began_ns = real_time_ns() - static_cast<int64_t>(look->time_ns);
    writer_.emplace(std::move(file_), meta, recording.types, recording.shown, tables.gauges,
                    limits_, event_options_);
    if (request_.probe.ages && block_columns(recording.types)) ledger_.emplace(recording.types);
  }
  if (look) follow(*look);
  if (learn_) learn_(recording.modules);
  writing_ =
      std::async(std::launch::async, [this, look = std::move(look), events = std::move(events),
                                      marks = std::exchange(waiting_marks_, {})] {
        // What cannot be written now waits in the writer: all of it must come there.
        std::optional<Error> problem;
        const auto attempt = [&](const auto& write) {
          try {
            write();
          } catch (const Error& error) {
            problem = error;
          }
        };
        const History& now = axis_.tables();
        for (const Mark& mark : marks) attempt([&] { writer_->mark(mark); });
        if (!events.events.empty()) attempt([&] { writer_->add_events(now, events.events); });
        for (const EventGap& gap : events.gaps) attempt([&] { writer_->add_gap(gap); });
        if (const auto& point = events.checkpoint)
          attempt([&] { writer_->add_checkpoint(now, point->time_ns, point->blocks); });
        if (look) attempt([&] { writer_->add(now, *look); });
        if (!leaving_.empty()) attempt([&] { writer_->leave(now, leaving_); });
        if (problem) throw Error(*problem);
      });
}

// What verdicts and the end of the run need of a look.
void Recorder::follow(const Look& look) {
  const History& tables = axis_.tables();
  const Recording& recording = tables.recording;
  if (ledger_) ledger_->add(look, tables.tracks);
  last_.time_ns = look.time_ns;
  last_.gauges = look.gauges;
  for (const Look::Row& row : look.rows) {
    const size_t place = row.track.index - 1;  // no track has index 0
    for (size_t known = last_.rows.size(); known <= place; known = last_.rows.size()) {
      last_.rows.resize(known + 1, recording.types.size());
      last_.rows.tracks()[known] = TrackId{static_cast<uint32_t>(known + 1)};
    }
    std::copy(row.values.begin(), row.values.end(), last_.rows.values_of(place).begin());
  }
}

bool Recorder::wants_results(Recording& recording) {
  History now;
  now.recording = std::move(axis_.tables().recording);
  now.tracks = axis_.tables().tracks;
  now.gauges = axis_.tables().gauges;
  now.looks.push_back(std::move(last_));
  Recording recorded = take_recording_at(now, {});
  recorded.meta = std::move(recording.meta);
  recorded.losses = recording.losses;
  recorded.losses.add(Loss::event_lost, lost_events_);
  recorded.modules = std::move(recording.modules);
  recorded.spaces = std::move(recording.spaces);
  recorded.scripts = std::move(recording.scripts);
  recorded.shared_names = std::move(recording.shared_names);
  if (!recording.candidates.empty())
    recorded.meta.notes.emplace_back("a recording does not hold what --check finds");
  if (writer_ && !writer_->takes_events())
    recorded.meta.notes.emplace_back(
        "the events of blocks end where they had filled their part of --max-file; the figures go "
        "on");
  if (const std::string slower = axis_.in_words(); !slower.empty())
    recorded.meta.notes.push_back(slower);
  recording = std::move(recorded);
  return true;
}

void Recorder::wrote_results(const Recording& recording) {
  History& tables = axis_.tables();
  tables.recording = recording;
  writer_->finish(tables);
  std::cerr << "memflame: " << name_ << " has " << iec_bytes(static_cast<int64_t>(writer_->bytes()))
            << (request_.output.empty() ? ""
                                        : "; memflame timeline, render and leaks --from read it")
            << "\n";
  if (ledger_) say_verdicts(recording);
}

// One line for each of the worst stacks.
void Recorder::say_verdicts(const Recording& recording) const {
  std::vector<Verdict> verdicts;
  for (Verdict& verdict : ledger_->verdicts({}))
    if (verdict.kind == VerdictKind::leak && verdicts.size() < most_told)
      verdicts.push_back(std::move(verdict));
  if (verdicts.empty()) return;
  std::vector<Aggregate> sums;
  for (const Verdict& verdict : verdicts) {
    const Track& track = axis_.tables().tracks[verdict.track.index];
    sums.push_back({track.stack, track.group, std::vector<int64_t>(recording.types.size(), 1), 1});
  }
  Recording chosen = recording;
  chosen.sums = std::move(sums);
  std::vector<StackId> stacks;
  const Profile profile = fold(chosen, {}, &stacks);
  const std::vector<std::string> labels = stack_labels(profile, stacks);
  for (size_t i = 0; i < verdicts.size(); ++i) {
    excuse(verdicts[i], one_time_blocks_of(profile, stacks[i]));
    if (verdicts[i].kind != VerdictKind::leak) continue;
    uint64_t replaced = 0;
    std::cerr << "memflame: " << clean_text(labels[i], replaced) << ": " << in_words(verdicts[i])
              << "\n";
  }
}

}  // namespace memflame
