// SPDX-License-Identifier: BSD-2-Clause
#include "cli/leaks/leaks_writer.h"

#include <algorithm>
#include <utility>

#include "cli/files/output_file.h"
#include "cli/leaks/leaks_frames.h"
#include "cli/leaks/leaks_lines.h"
#include "cli/runs/drawing.h"
#include "cli/runs/run_request.h"
#include "collapse/fold/fold.h"
#include "collapse/symbolize/symbolize.h"
#include "collapse/verdicts/suppressions.h"
#include "core/error.h"
#include "probes/run/memory_plan.h"

namespace memflame {
namespace {

// One more look may wait while one is written.
constexpr size_t most_waiting = 1;

ReportedReach reach_of(const Snapshot& snapshot) {
  ReportedReach reach{.sums = {}, .scanned = snapshot.scanned};
  for (const LiveStack& stack : snapshot.stacks) reach.sums += stack.old_reach;
  return reach;
}

}  // namespace

LeaksWriter::LeaksWriter(const LeaksOptions& options, const Request& request, std::ostream* lines)
    : options_(options), request_(request), lines_(lines), thread_([this] { run(); }) {}

LeaksWriter::~LeaksWriter() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
  thread_.join();
}

void LeaksWriter::rethrow() {
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

bool LeaksWriter::is_busy() {
  const std::lock_guard lock(mutex_);
  rethrow();
  return waiting_.size() >= most_waiting;
}

void LeaksWriter::take(LeaksLook&& look) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return failure_ || waiting_.size() < most_waiting; });
  rethrow();
  waiting_.push_back(std::move(look));
  changed_.notify_all();
}

bool LeaksWriter::is_idle() {
  const std::lock_guard lock(mutex_);
  rethrow();
  return waiting_.empty() && !is_writing_;
}

void LeaksWriter::write(const std::string& lines) {
  wait();
  *lines_ << lines;
  flush();
}

void LeaksWriter::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return failure_ || (waiting_.empty() && !is_writing_); });
  rethrow();
}

void LeaksWriter::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    LeaksLook look = std::move(waiting_.front());
    waiting_.pop_front();
    is_writing_ = true;
    changed_.notify_all();
    lock.unlock();
    std::exception_ptr failure;
    try {
      write_look(look);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    is_writing_ = false;
    if (failure) failure_ = failure;
    changed_.notify_all();
  }
}

void LeaksWriter::write_look(LeaksLook& look) {
  if (look.left_out != 0)
    look.notes.push_back("left out: " + std::to_string(look.left_out) +
                         (look.left_out == 1 ? " report" : " reports") +
                         " before this one: looking up names took longer than the interval");
  if (request_.format == nullptr)
    print(look);
  else
    draw(look);
}

void LeaksWriter::print(LeaksLook& look) {
  name(look);
  excuse_one_time_blocks(look.judged);
  count_cut_stacks(look);
  const Snapshot& snapshot = *look.snapshot;
  LeaksReport report{.clock = look.clock,
                     .seconds = look.seconds,
                     .live = snapshot.live,
                     .live_before = live_before_,
                     .older_ns = options_.older_ns,
                     .has_ended = !snapshot.ended.empty(),
                     .old = snapshot.old,
                     .stacks = 0,
                     .top = {},
                     .order = in_words(options_.order),
                     .verdicts = in_words(look.judged),
                     .sampling = look.snapshot->sampling,
                     .losses = look.losses,
                     .unseen_frees = look.snapshot->unseen_frees,
                     .notes = look.notes,
                     .reach = {}};
  if (snapshot.is_scanned) report.reach = reach_of(snapshot);
  for (const JudgedStack& stack : look.judged.shown) report.top.push_back(describe(look, stack));
  before_.clear();
  for (const LiveStack& stack : snapshot.stacks) {
    if (!is_old(stack)) continue;
    before_[stack.key] = stack.old;
    ++report.stacks;
  }
  live_before_ = snapshot.live;
  *lines_ << look.lines
          << (options_.json_lines ? report_line(report) : report_text(report, options_.exact));
  flush();
}

ReportedStack LeaksWriter::describe(const LeaksLook& look, const JudgedStack& judged) const {
  const LiveStack& stack = *judged.stack;
  ReportedStack reported{.amount = stack.old,
                         .before = {},
                         .verdict = judged.verdict ? in_words(*judged.verdict) : "",
                         .judged = judged.verdict,
                         .process = {},
                         .frames = {},
                         .blocks = stack.blocks,
                         .blocks_left_out = 0,
                         .reach = {}};
  if (look.snapshot->is_scanned) reported.reach = stack.old_reach;
  if (live_before_) {
    const auto before = before_.find(stack.key);
    reported.before = before == before_.end() ? Amount{} : before->second;
  }
  if (const auto names = names_.find(stack.key); names != names_.end()) {
    reported.process = names->second.process;
    reported.frames = names->second.frames;
  }
  if (!reported.process.empty() && look.snapshot->ended.contains(stack.stack.space))
    reported.process += ", which has ended";
  std::sort(reported.blocks.begin(), reported.blocks.end(),
            [](const SnapshotBlock& a, const SnapshotBlock& b) {
              return std::tuple(b.age_ns, a.address) < std::tuple(a.age_ns, b.address);
            });
  if (reported.blocks.size() > options_.blocks_per_stack) {
    reported.blocks_left_out = reported.blocks.size() - options_.blocks_per_stack;
    reported.blocks.resize(options_.blocks_per_stack);
  }
  return reported;
}

// Only printed stacks get names, and only once. Debug servers are not asked: an answer may take
// longer than many reports.
void LeaksWriter::name(LeaksLook& look) {
  if (look.forget) {
    names_.clear();
    cuts_.clear();
  }
  std::vector<const LiveStack*> stacks = look.unnamed;
  stacks.insert(stacks.end(), look.unjudged.begin(), look.unjudged.end());
  if (stacks.empty()) return;
  Recording& recording = look.recording;
  show_live(recording, stacks, options_.by_count, look.snapshot->sampled);
  symbolize(recording, {.debug_servers = false, .memory_bytes = free_memory()});
  const std::vector<Aggregate> sums = std::move(recording.sums);
  for (size_t i = 0; i < stacks.size(); ++i) {
    const uint64_t key = stacks[i]->key;
    cuts_[key] = why_cut(recording, sums.at(i).stack);
    if (i >= look.unnamed.size()) continue;
    recording.sums = {sums[i]};
    const Profile profile = fold(recording, {.pid = false, .lines = true});
    const StackId stack = profile.touched().front();
    names_[key] = {process_of(recording, stacks[i]->stack.space),
                   frame_lines(profile, stack, request_.verbose),
                   one_time_blocks_of(profile, stack)};
  }
}

// Names are known of the stacks that are shown.
void LeaksWriter::excuse_one_time_blocks(JudgedStacks& stacks) const {
  for (JudgedStack& stack : stacks.shown) {
    const auto names = names_.find(stack.stack->key);
    if (!stack.verdict || names == names_.end()) continue;
    const Verdict before = *stack.verdict;
    excuse(*stack.verdict, names->second.one_time_blocks);
    if (stack.verdict->kind != before.kind) stacks.excuse(before);
  }
  if (options_.order != LeaksOrder::evidence) return;
  std::stable_sort(stacks.shown.begin(), stacks.shown.end(),
                   [](const JudgedStack& a, const JudgedStack& b) {
                     return a.verdict && (!b.verdict || is_worse(*a.verdict, *b.verdict));
                   });
}

// Counts cut stacks as fold() does in a picture of the same blocks.
void LeaksWriter::count_cut_stacks(LeaksLook& look) const {
  for (const LiveStack& stack : look.snapshot->stacks) {
    if (!is_old(stack)) continue;
    const auto cut = cuts_.find(stack.key);
    if (cut == cuts_.end() || !cut->second) continue;
    look.losses.add(*cut->second, static_cast<uint64_t>(std::max<int64_t>(stack.old.blocks, 0)),
                    stack.old.bytes);
  }
}

void LeaksWriter::draw(LeaksLook& look) const {
  if (!look.lines.empty()) {
    *lines_ << look.lines;
    lines_->flush();
  }
  Recording& recording = look.recording;
  std::vector<const LiveStack*> stacks;
  for (const JudgedStack& each : look.judged.shown) stacks.push_back(each.stack);
  show_live(recording, stacks, options_.by_count, look.snapshot->sampled);
  recording.meta.seconds = look.seconds;
  recording.meta.sampling = look.snapshot->sampling;
  recording.meta.notes = look.notes;
  const Profile profile =
      drawn_profile(recording, profile_of(recording, request_, false), request_);
  write_output(
      request_.output,
      [&](std::ostream& out) { request_.format->write(out, profile, request_.render); },
      request_.readers);
}

void LeaksWriter::flush() {
  lines_->flush();
  if (*lines_) return;
  const bool is_file =
      request_.format == nullptr && !request_.output.empty() && request_.output != "-";
  throw Error((is_file ? request_.output : std::string("standard output")) +
              " could not be written");
}

}  // namespace memflame
