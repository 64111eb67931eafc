// SPDX-License-Identifier: BSD-2-Clause
#include "cli/recorder.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <utility>

#include "cli/recording_file.h"
#include "collapse/fold.h"
#include "collapse/history/stack_labels.h"
#include "collapse/history/views.h"
#include "collapse/verdicts/suppressions.h"
#include "core/error.h"
#include "core/units.h"
#include "probes/run/live_run.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

// Each look writes the marks since the look before.
constexpr size_t most_waiting_marks = 1000;
constexpr size_t most_told = 5;  // stacks with a verdict on stderr

}  // namespace

Recorder::Recorder(const RecordOptions& options, const Request& request)
    : request_(request), axis_(options.interval, request.probe.ages), limits_(options.limits) {}

void Recorder::begin(LiveRun&) { file_ = recording_file(request_.output, request_.readers); }

bool Recorder::look(LiveRun& run, double seconds) {
  if (is_writing()) return true;
  finish_writing(true);
  run.read_pss();
  if (std::optional<Look> look = axis_.look(run, seconds)) add(std::move(*look));
  return true;
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
              << (problem.empty() ? request_.output + " can be written again"
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
  throw Error(
      "a recording holds every moment: mark this one, and draw it from the file with "
      "'memflame render " +
      request_.output + " --at TIME'");
}

void Recorder::end(LiveRun& run, double) {
  finish_writing(true);
  Look look = axis_.last(run);
  const uint64_t time_ns = look.time_ns;
  add(std::move(look));
  finish_writing(false);
  if (ledger_) ledger_->end(time_ns);
}

void Recorder::add(Look look) {
  const History& tables = axis_.tables();
  const Recording& recording = tables.recording;
  if (!writer_) {
    writer_.emplace(std::move(file_), meta_of(request_), recording.types, recording.shown,
                    tables.gauges, limits_);
    if (request_.probe.ages && block_columns(recording.types)) ledger_.emplace(recording.types);
  }
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
  writing_ = std::async(std::launch::async,
                        [this, look = std::move(look), marks = std::exchange(waiting_marks_, {})] {
                          for (const Mark& mark : marks) writer_->mark(mark);
                          writer_->add(axis_.tables(), look);
                        });
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
  recorded.modules = std::move(recording.modules);
  recorded.spaces = std::move(recording.spaces);
  recorded.shared_names = std::move(recording.shared_names);
  if (!recording.candidates.empty())
    recorded.meta.notes.emplace_back("a recording does not hold what --check finds");
  if (const std::string slower = axis_.in_words(); !slower.empty())
    recorded.meta.notes.push_back(slower);
  recording = std::move(recorded);
  return true;
}

void Recorder::wrote_results(const Recording& recording) {
  History& tables = axis_.tables();
  tables.recording = recording;
  writer_->finish(tables);
  std::cerr << "memflame: " << request_.output << " has "
            << iec_bytes(static_cast<int64_t>(writer_->bytes()))
            << "; memflame timeline, render and leaks --from read it\n";
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
