// SPDX-License-Identifier: BSD-2-Clause
#include "probes/heaps/go/go_heaps.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "core/error.h"
#include "core/units.h"
#include "probes/stacks/rows.h"
#include "probes/system/procfs.h"

namespace memflame {
namespace {

constexpr uint64_t search_interval_ns = 2'000'000'000;
constexpr uint64_t first_try_wait_ns = 4'000'000'000;
constexpr unsigned most_doublings = 7;  // about ten minutes
constexpr double most_new_seconds = 10;
constexpr size_t most_go_named = 4;
constexpr std::chrono::milliseconds heaps_poll{10};

// Columns of bpf::sum that count from the beginning of the program.
constexpr size_t total_bytes = 2, total_blocks = 3;

}  // namespace

GoHeaps::GoHeaps(const Probe& probe, const ProbeOptions& options, Others others)
    : GoLiveRun(probe, options, true),  // nobody asks for the OS's figures
      others_are_(others) {}

uint64_t GoHeaps::arm() { return armed_ns_ = monotonic_ns(); }

void GoHeaps::poll() {
  std::this_thread::sleep_for(heaps_poll);
  step();
}

void GoHeaps::step() {
  if (!due_.empty()) {
    const Key key = due_.front();
    due_.pop_front();
    try_to_watch(key);
  } else if (monotonic_ns() >= next_search_ns_) {
    search();
    next_search_ns_ = monotonic_ns() + search_interval_ns;
  }
}

void GoHeaps::search() {
  see_ends();
  std::map<Key, Other> others;
  const uint64_t now = monotonic_ns();
  for (const pid_t pid : processes_.present()) {
    const Key key{pid, start_ticks_of(pid)};
    if (current_.contains(key)) continue;
    const auto known = others_.find(key);
    const Other other = known == others_.end() ? Other{} : known->second;
    if (now >= other.next_ns) due_.push_back(key);
    others.emplace(key, other);
  }
  others_ = std::move(others);
}

void GoHeaps::try_to_watch(const Key& key) {
  const auto is_gone = [&] { return start_ticks_of(key.first) != key.second; };
  Other& other = others_[key];
  try {
    watch(key);
    others_.erase(key);
    return;
  } catch (const NotGo&) {
    other.why =
        others_are_ == Others::watched
            ? ""
            : read_comm(key.first) + " (" + std::to_string(key.first) + ") is not a Go program";
  } catch (const Error& error) {
    // Without the right to read a process nobody knows what it is.
    const bool is_unknown = error.exit_code == ExitCode::requirement;
    other.why = is_unknown && others_are_ == Others::watched ? "" : error.what();
  }
  if (is_gone()) {
    others_.erase(key);
    return;
  }
  other.next_ns = monotonic_ns() + (first_try_wait_ns << std::min(other.tries, most_doublings));
  ++other.tries;
}

void GoHeaps::watch(const Key& key) {
  Watched watched;
  watched.pid = key.first;
  watched.process = std::make_unique<GoProcess>(key.first);
  watched.program = read_program(key.first);
  const GoHeap heap = watched.process->heap();
  if (heap.rate == 0)
    throw Error(watched.process->name() +
                " keeps no heap profile: its runtime.MemProfileRate is 0");
  watched.space = SpaceId{static_cast<uint32_t>(watched_.size() + 1)};
  processes_.adopt(watched.space, watched.pid);
  take(watched, heap);
  // All of a process that has just begun was allocated while memflame looked for it. What others
  // allocated before is not new.
  const double seconds = static_cast<double>(monotonic_ns() - armed_ns_) / 1e9;
  if (age_seconds(watched.pid) >= std::min(seconds, most_new_seconds))
    watched.before = watched.sums;
  current_.emplace(key, watched_.size());
  watched_.push_back(std::move(watched));
}

void GoHeaps::take(Watched& watched, const GoHeap& heap) {
  watched.rate = heap.rate;
  watched.sums = go_sums(heap, [&](const GoBucket& bucket) {
    const auto [found, is_new] = watched.keys.try_emplace(bucket.pcs, 0);
    if (is_new) {
      found->second = ++last_key_;
      log_.keep(found->second, watched.process->stack_of(bucket, watched.space, monotonic_ns()));
    }
    return found->second;
  });
  watched.process->forget_code();
}

// The last reading stays if the process has ended, if the profile changes all the time, or if it
// was switched off.
void GoHeaps::read_again(Watched& watched) {
  if (!watched.process) return;
  try {
    const GoHeap heap = watched.process->heap();
    if (heap.rate != 0) take(watched, heap);
  } catch (const Error&) {
    if (watched.process->has_ended() || read_program(watched.pid) != watched.program)
      end(watched);
    else
      ++unread_;
  }
}

void GoHeaps::refresh() {
  see_ends();
  for (Watched& watched : watched_) read_again(watched);
}

void GoHeaps::see_ends() {
  for (Watched& watched : watched_)
    if (watched.process && watched.process->has_ended()) end(watched);
}

void GoHeaps::end(Watched& watched) {
  take_end(watched.space, watched.pid, monotonic_ns());
  watched.process.reset();
  watched.keys.clear();
  std::erase_if(current_, [&](const auto& each) { return &watched_[each.second] == &watched; });
}

GoHeaps::Unwatched GoHeaps::unwatched() const {
  Unwatched result;
  for (const auto& [key, other] : others_) {
    if (other.why.empty()) continue;
    if (++result.count <= most_go_named)
      result.first += (result.count == 1 ? "" : "; ") + other.why;
  }
  if (result.count > most_go_named)
    result.first +=
        "; and " + with_commas(static_cast<int64_t>(result.count - most_go_named)) + " more";
  return result;
}

uint64_t GoHeaps::sample_bytes() const {
  uint64_t most = 0;
  for (const auto& [key, index] : current_) most = std::max(most, watched_[index].rate);
  return most > 1 ? most : 0;
}

std::string GoHeaps::sampling_in_words() const {
  std::set<uint64_t> rates;
  for (const auto& [key, index] : current_) rates.insert(watched_[index].rate);
  std::string text;
  for (const uint64_t rate : rates)
    if (const std::string words = go_sampling_in_words(rate); !words.empty())
      text += (text.empty() ? "" : "; ") + words;
  return text;
}

std::vector<ValueType> GoHeaps::types() const {
  std::vector<ValueType> types = go_types(probe_, options_, true);
  types.push_back({std::string(watched_column), Unit::bytes});
  types.push_back({std::string(watched_count_column), Unit::count});
  return types;
}

void GoHeaps::add_figures(size_t, std::span<const ValueType> types, Rows& rows) {
  for (const Watched& watched : watched_)
    for (const auto& [key, sum] : watched.sums) {
      std::vector<int64_t> row = go_row(sum, types.size() - 2);
      const auto before = watched.before.find(key);
      for (const size_t column : {total_bytes, total_blocks})
        row.push_back(sum.values[column] -
                      (before == watched.before.end() ? 0 : before->second.values[column]));
      rows.add(key, "", row, sum.samples);
    }
}

void GoHeaps::for_each_sum(const VisitSum& visit) {
  for (const Watched& watched : watched_)
    for (const auto& [key, sum] : watched.sums) visit(key, sum.values.data());
}

Recording GoHeaps::finish() {
  Recording recording = sums();
  processes_.spaces().copy_to(recording);
  return recording;
}

uint64_t GoHeaps::sampled_blocks() const {
  uint64_t blocks = 0;
  for (const Watched& watched : watched_)
    for (const auto& [key, sum] : watched.sums) blocks += static_cast<uint64_t>(sum.samples);
  return blocks;
}

uint64_t GoHeaps::live_bytes() const {
  uint64_t bytes = 0;
  for (const auto& [key, index] : current_)
    for (const auto& [stack, sum] : watched_[index].sums)
      bytes += static_cast<uint64_t>(sum.values[0]);
  return bytes;
}

void GoHeaps::describe(RunInfo& info) const {
  info.counters.events = sampled_blocks();
  info.pids = processes_.os().pids();
}

}  // namespace memflame
