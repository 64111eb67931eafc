// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/perf/perf_script_tables.h"

#include <algorithm>

#include "core/error.h"
#include "core/together.h"

namespace memflame {
namespace {

// What another thread has learned by now is not learned again.
void learn(HashCache& cache, const Hash128* hash, uint32_t number) {
  if (hash != nullptr && cache.find(*hash) == 0) cache.insert(*hash, number);
}

}  // namespace

FrameId PerfTables::frame(FrameKind kind, std::string_view function, std::string_view module,
                          const Hash128* line) {
  // Hashes are made before others have to wait.
  const uint64_t of_function = hash_bytes(function), of_module = hash_bytes(module);
  const std::lock_guard lock(learning_);
  const FrameId frame =
      profile.frames.intern({.function = profile.strings.intern(function, of_function),
                             .module = profile.strings.intern(module, of_module),
                             .file = {},
                             .kind = kind});
  learn(lines_, line, frame.index);
  return frame;
}

FrameId PerfTables::at(FrameId frame, std::string_view file, uint32_t line) {
  const std::lock_guard lock(learning_);
  Frame placed = profile.frames[frame];
  placed.file = profile.strings.intern(file);
  placed.line = line;
  return profile.frames.intern(placed);
}

uint32_t PerfTables::event(std::string_view name) {
  const std::lock_guard lock(learning_);
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
  const std::lock_guard lock(learning_);
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
  sort_together(shared_ ? 2 : 1, waiting_.begin(), waiting_.end(), in_order);
}

void PerfTables::settle() {
  sort_waiting();
  std::span<const uint32_t> before;
  std::vector<StackId> stacks;  // of the frames of `before`
  // In an empty tree all stacks that come in order are new.
  const bool all_new = profile.stacks.size() == 1;
  if (all_new) profile.stacks.reserve(ids_.size() + 1);
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
