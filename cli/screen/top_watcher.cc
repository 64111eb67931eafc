// SPDX-License-Identifier: BSD-2-Clause
#include "cli/screen/top_watcher.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <utility>

#include "cli/files/output_file.h"
#include "cli/leaks/leaks_frames.h"
#include "cli/runs/drawing.h"
#include "cli/runs/durations.h"
#include "collapse/fold/fold.h"
#include "collapse/symbolize/symbolize.h"
#include "collapse/verdicts/suppressions.h"
#include "core/error.h"
#include "core/own_path.h"
#include "probes/run/live_run.h"
#include "probes/run/memory_plan.h"
#include "probes/run/run_notes.h"
#include "probes/system/procfs.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

constexpr size_t most_rows = 4096;
constexpr size_t most_top_names = size_t{1} << 16U;
// The first names come soon, the others in few steps: each step reads the files' symbols again.
constexpr size_t first_names = 64, names_at_once = 2048;
constexpr double most_look_share = 0.05;  // of a processor, for looks

double look_cost_seconds() {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

}  // namespace

TopWatcher::TopWatcher(const TopOptions& options, const Request& request)
    : options_(options),
      request_(request),
      verdicts_(request.probe.ages, options.verdicts),
      history_(options.interval) {}

TopWatcher::~TopWatcher() = default;

void TopWatcher::begin(LiveRun& run) {
  data_.collector = request_.probe.collect == Collect::inside ? "inside"
                    : request_.probe.collect == Collect::go   ? "Go's runtime"
                                                              : "kernel";
  data_.window = history_.window();
  TopState state;
  state.sort = options_.sort;
  state.file = next_file();
  describe_run(run, 0);
  screen_.emplace(std::move(state));
  show();
}

bool TopWatcher::look(LiveRun& run, double seconds) {
  verdicts_.looks().look(run, seconds);
  if (!is_busy_ && failure_) std::rethrow_exception(failure_);
  was_left_ = screen_->wants_end();
  if (was_left_) return false;
  if (auto file = screen_->take_wanted_picture()) wishes_.push_back({std::move(*file), {}});
  if (seconds >= next_) {
    take_look(run, seconds);
  } else if (const std::lock_guard lock(mutex_); !new_names_.empty()) {
    names_.merge(new_names_);
    new_names_.clear();
    add_names();
    show();
  }
  if (is_busy_) return true;
  if (!wishes_.empty())
    draw(run, seconds);
  else
    name(run);
  return true;
}

// Less often if looking takes long: the run's own work must not wait.
void TopWatcher::take_look(LiveRun& run, double seconds) {
  const double before = look_cost_seconds();
  snapshot_ = std::make_shared<const Snapshot>(run.snapshot({}));
  describe_run(run, seconds);
  add_rows(run, seconds);
  {
    const std::lock_guard lock(mutex_);
    names_.merge(new_names_);
    new_names_.clear();
  }
  add_names();
  const double interval =
      std::max(options_.interval, (look_cost_seconds() - before) / most_look_share);
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "every %.1f s", interval);
  data_.slower = interval > options_.interval ? text.data() : "";
  next_ = seconds + interval;
  show();
}

void TopWatcher::describe_run(const LiveRun& run, double seconds) {
  data_.clock = clock_text();
  data_.seconds = seconds;
  const std::vector<pid_t> pids = run.living();
  const bool is_system = request_.probe.target.whole_system();
  if (is_system) data_.program = "the kernel";
  if (!pids.empty())
    data_.program = clean_text(read_comm(pids[0])) + " (" + std::to_string(pids[0]) + ")" +
                    (pids.size() > 1 ? " and " + std::to_string(pids.size() - 1) + " more" : "");
  if (!is_system) data_.resident = run.resident_bytes();
  data_.losses = run.losses();
  const std::optional<Ledger>& ledger = verdicts_.looks().ledger();
  const double looked = verdicts_.looks().seconds();
  if (!ledger || looked <= rate_since_) return;
  const int64_t allocations = ledger->total_blocks();
  data_.allocations_per_second =
      std::max(0.0, static_cast<double>(allocations - allocations_) / (looked - rate_since_));
  allocations_ = allocations;
  rate_since_ = looked;
}

void TopWatcher::add_rows(const LiveRun& run, double seconds) {
  const Snapshot& snapshot = *snapshot_;
  judged_ = verdicts_.ranked(run, snapshot, LeaksOrder::size, most_rows);
  data_.live_bytes = data_.other_bytes = snapshot.live.bytes;
  data_.live_blocks = data_.other_blocks = snapshot.live.blocks;
  data_.other_stacks = snapshot.stacks.size() - judged_.shown.size();
  data_.sampling = clean_text(snapshot.sampling);
  std::vector<TopHistory::Stack> stacks;
  for (const JudgedStack& judged : judged_.shown)
    stacks.push_back({judged.stack->key, judged.stack->live.bytes});
  history_.add(seconds, stacks, data_.other_stacks == 0);
  data_.rows.clear();
  for (const JudgedStack& judged : judged_.shown) {
    const Amount& live = judged.stack->live;
    TopRow& row = data_.rows.emplace_back();
    row.key = judged.stack->key;
    row.bytes = live.bytes;
    row.blocks = live.blocks;
    row.bytes_error = std::sqrt(std::max(live.bytes_variance, 0.0));
    row.blocks_error = std::sqrt(std::max(live.blocks_variance, 0.0));
    row.growth = history_.growth(row.key);
    row.series = history_.series(row.key);
    row.has_ended = snapshot.ended.contains(judged.stack->stack.space);
    data_.other_bytes -= live.bytes;
    data_.other_blocks -= live.blocks;
  }
}

// Also the verdicts, which names may excuse.
void TopWatcher::add_names() {
  JudgedStacks counts = judged_;
  for (size_t i = 0; i < data_.rows.size(); ++i) {
    TopRow& row = data_.rows[i];
    const auto named = names_.find(row.key);
    if (named != names_.end()) row.names = named->second.names;
    std::optional<Verdict> verdict = judged_.shown[i].verdict;
    if (!verdict) continue;
    if (named != names_.end()) excuse(*verdict, named->second.one_time_blocks);
    if (verdict->kind != judged_.shown[i].verdict->kind) counts.excuse(*judged_.shown[i].verdict);
    row.verdict = verdict->kind;
    row.sentence = in_words(*verdict);
  }
  data_.verdicts = in_words(counts);
}

void TopWatcher::show() { screen_->show(data_); }

void TopWatcher::name(LiveRun& run) {
  if (!snapshot_) return;
  if (asked_.size() > most_top_names) {
    asked_.clear();
    names_.clear();
  }
  std::vector<const LiveStack*> stacks;
  for (const JudgedStack& judged : judged_.shown) {
    if (asked_.contains(judged.stack->key)) continue;
    stacks.push_back(judged.stack);
    if (stacks.size() == (asked_.empty() ? first_names : names_at_once)) break;
  }
  if (stacks.empty()) return;
  for (const LiveStack* stack : stacks) asked_.insert(stack->key);
  start([this, snapshot = snapshot_, stacks = std::move(stacks),
         recording = run.recording_of({}, false)]() mutable {
    show_live(recording, stacks, false, snapshot->sampled);
    symbolize(recording, {.debug_servers = false, .memory_bytes = free_memory()});
    const std::vector<Aggregate> sums = std::move(recording.sums);
    std::unordered_map<uint64_t, NamedTopStack> found;
    for (size_t i = 0; i < stacks.size(); ++i) {
      recording.sums = {sums.at(i)};
      const Profile profile = fold(recording, {.pid = false, .lines = true});
      found[stacks[i]->key] = top_names(profile, profile.touched().front(),
                                        process_of(recording, stacks[i]->stack.space));
    }
    const std::lock_guard lock(mutex_);
    new_names_.merge(found);
  });
}

void TopWatcher::draw(LiveRun& run, double seconds) {
  auto wish = std::make_shared<Wish>(std::move(wishes_.front()));
  wishes_.pop_front();
  screen_->propose(next_file());
  auto snapshot = std::make_shared<const Snapshot>(run.snapshot({}));
  Recording recording = run.recording_of({}, false);
  recording.meta.seconds = seconds;
  recording.meta.sampling = snapshot->sampling;
  recording.meta.notes = filters_in_words(request_.probe);
  recording.meta.notes.insert(recording.meta.notes.end(), snapshot->deaths.begin(),
                              snapshot->deaths.end());
  recording.meta.notes.emplace_back("so far: the run continues");
  std::optional<JudgedRun> judged;
  if (const std::optional<Ledger>& ledger = verdicts_.looks().ledger()) {
    const History& tables = verdicts_.looks().tables();
    judged = JudgedRun{*ledger, tables.tracks, tables.recording.stacks};
  }
  start([this, wish, snapshot, recording = std::move(recording),
         judged = std::move(judged)]() mutable {
    write(std::move(recording), *snapshot, judged ? &*judged : nullptr, *wish);
  });
}

void TopWatcher::write(Recording recording, const Snapshot& snapshot, const JudgedRun* judged,
                       Wish& wish) {
  try {
    std::vector<const LiveStack*> stacks;
    for (const LiveStack& stack : snapshot.stacks) stacks.push_back(&stack);
    show_live(recording, stacks, false, snapshot.sampled);
    const Profile profile =
        drawn_profile(recording, profile_of(recording, request_, false, judged), request_);
    const Output& svg = output_for("svg", "");
    write_output(
        wish.file, [&](std::ostream& out) { svg.write(out, profile, request_.render); },
        request_.readers);
    tell("picture -> " + wish.file);
    if (wish.answer) wish.answer->set_value(std::filesystem::absolute(wish.file).string() + "\n");
  } catch (const std::exception& error) {
    tell(error.what());
    if (wish.answer) wish.answer->set_exception(std::make_exception_ptr(Error(error.what())));
  }
}

void TopWatcher::start(std::function<void()> work) {
  is_busy_ = true;
  worker_ = std::jthread([this, work = std::move(work)] {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
    }
    is_busy_ = false;
  });
}

void TopWatcher::tell(const std::string& text) {
  const std::lock_guard lock(mutex_);
  told_.push_back(clean_text(text));
  screen_->say(told_.back());
}

// The first name that is free.
std::string TopWatcher::next_file() {
  const std::string first = "memflame-" + std::to_string(::getpid()) + ".svg";
  std::string file;
  do {
    file = numbered_name(first, ".svg", ++pictures_);
  } while (place_of(file).status());
  return file;
}

// SIGUSR1
void TopWatcher::asked(LiveRun&, double) { wishes_.push_back({next_file(), {}}); }

std::future<std::string> TopWatcher::picture(LiveRun&, double) {
  Wish& wish = wishes_.emplace_back(Wish{next_file(), std::promise<std::string>()});
  return wish.answer->get_future();
}

void TopWatcher::end(LiveRun& run, double) {
  runs_on_ = was_left_ && !run.living().empty();
  if (worker_.joinable()) worker_.join();
  wishes_.clear();
  screen_.reset();
  for (const std::string& text : told_) std::cerr << "memflame: " << text << "\n";
}

void TopWatcher::wrote_results(const Recording&) {
  if (runs_on_ && !request_.probe.target.command.empty())
    std::cerr << "memflame: " << clean_text(request_.probe.target.command[0])
              << " runs on, and memflame waits for its end (Ctrl-C ends both); output -> "
              << clean_text(options_.command_output) << "\n";
}

}  // namespace memflame
