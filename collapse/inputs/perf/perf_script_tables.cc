// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/perf/perf_script_tables.h"

#include <algorithm>
#include <thread>

#include "core/error.h"

namespace memflame {
namespace {

// What another thread has learned by now is not learned again.
void learn(HashCache& cache, const Hash128* hash, uint32_t number) {
  if (hash != nullptr && cache.find(*hash) == 0) cache.insert(*hash, number);
}

}  // namespace

// The work under the lock takes less time than putting a thread to sleep and waking it.
std::unique_lock<std::mutex> PerfTables::locked() {
  constexpr int tries = 1000;
  std::unique_lock lock(mutex_, std::defer_lock);
  for (int i = 0; i < tries; ++i) {
    if (lock.try_lock()) return lock;
    __builtin_ia32_pause();
  }
  lock.lock();
  return lock;
}

FrameId PerfTables::frame(FrameKind kind, std::string_view function, std::string_view module,
                          const Hash128* line) {
  const std::unique_lock lock = locked();
  const FrameId frame = profile.frames.intern({.function = profile.strings.intern(function),
                                               .module = profile.strings.intern(module),
                                               .file = {},
                                               .kind = kind});
  learn(lines_, line, frame.index);
  return frame;
}

FrameId PerfTables::at(FrameId frame, std::string_view file, uint32_t line) {
  const std::unique_lock lock = locked();
  Frame placed = profile.frames[frame];
  placed.file = profile.strings.intern(file);
  placed.line = line;
  return profile.frames.intern(placed);
}

uint32_t PerfTables::event(std::string_view name) {
  const std::unique_lock lock = locked();
  const auto known = event_numbers_.find(name);
  if (known != event_numbers_.end()) return known->second;
  if (events.size() == max_columns) throw Error("more than 1,024 different events");
  const auto number = static_cast<uint32_t>(events.size());
  event_numbers_.emplace(name, number);
  events.emplace_back(name);
  return number;
}

uint32_t PerfTables::row(const Hash128& hash, std::span<const uint32_t> key,
                         const Hash128* sample) {
  if (sample == nullptr)
    if (const uint32_t known = known_rows_.find(hash); known != 0) return known;
  const std::unique_lock lock = locked();
  const uint32_t row = locked_row(hash, key);
  learn(samples_, sample, row);
  return row;
}

uint32_t PerfTables::locked_row(const Hash128& hash, std::span<const uint32_t> key) {
  if (const uint32_t known = known_rows_.find(hash); known != 0) return known;
  constexpr size_t enough = size_t{1} << 24U;  // 64 MiB
  if (ids_.size() >= enough) settle();
  const uint32_t row = next_index(rows.size());
  rows.push_back({{}, key[0]});
  const size_t begin = ids_.size();
  if (key[1] != 0) ids_.push_back(key[1]);
  ids_.insert(ids_.end(), key.rbegin(), key.rend() - 2);
  waiting_.push_back({begin, ids_.size() - begin, row});
  known_rows_.insert(hash, row);
  return row;
}

void PerfTables::sort_waiting() {
  const auto in_order = [&](const Waiting& a, const Waiting& b) {
    const std::span<const uint32_t> left = path(a), right = path(b);
    return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end());
  };
  constexpr size_t little = 1000;  // is not worth a thread
  const auto begin = waiting_.begin(), end = waiting_.end();
  if (!shared_ || waiting_.size() < little) return std::sort(begin, end, in_order);
  const auto middle = begin + static_cast<ptrdiff_t>(waiting_.size() / 2);
  {
    const std::jthread other([&] { std::sort(middle, end, in_order); });
    std::sort(begin, middle, in_order);
  }
  std::inplace_merge(begin, middle, end, in_order);
}

void PerfTables::settle() {
  sort_waiting();
  std::span<const uint32_t> before;
  std::vector<StackId> stacks;  // of the frames of `before`
  // In an empty tree all stacks that come in order are new.
  const bool all_new = profile.stacks.size() == 1;
  for (const Waiting& waiting : waiting_) {
    const std::span<const uint32_t> now = path(waiting);
    const size_t most = std::min(before.size(), now.size());
    const auto same = static_cast<size_t>(
        std::mismatch(now.begin(), now.begin() + static_cast<ptrdiff_t>(most), before.begin())
            .first -
        now.begin());
    stacks.resize(same);
    for (size_t i = same; i < now.size(); ++i) {
      const StackId caller = i == 0 ? StackId{} : stacks.back();
      stacks.push_back(all_new ? profile.stacks.append(caller, FrameId{now[i]})
                               : profile.stacks.push(caller, FrameId{now[i]}));
    }
    rows[waiting.row].stack = stacks.back();
    before = now;
  }
  waiting_.clear();
  ids_.clear();
}

}  // namespace memflame
