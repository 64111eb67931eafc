// SPDX-License-Identifier: BSD-2-Clause
#include "core/merge_stacks.h"

#include <algorithm>

namespace memflame {
namespace {

// Whether different frames stay different.
bool are_distinct(const std::vector<FrameId>& frames) {
  std::vector<bool> seen;
  for (size_t i = 1; i < frames.size(); ++i) {
    const size_t at = frames[i].index;
    if (seen.size() <= at) seen.resize(std::max(at + 1, 2 * seen.size()), false);
    if (seen[at]) return false;
    seen[at] = true;
  }
  return true;
}

}  // namespace

std::vector<StackId> merge_stacks(StackTable& into, const StackTable& from,
                                  const std::vector<FrameId>& frames) {
  // A hash covers frames only. So it is known before the ids of the callers are, and memory can be
  // fetched ahead.
  constexpr size_t ahead = 32;
  const size_t count = from.size();
  std::vector<uint64_t> hashes(count, 0);
  const auto prepare = [&](size_t i) {
    const StackNode& node = from[StackId{static_cast<uint32_t>(i)}];
    hashes[i] = StackTable::hash(hashes[node.caller.index], frames[node.frame.index]);
    into.prefetch(hashes[i]);
  };
  for (size_t i = 1; i < std::min(ahead + 1, count); ++i) prepare(i);
  // If the caller has just been added, its callee cannot be in `into` yet and is not looked up. All
  // stacks of `from` stay distinct, so none has to find another, and append() may skip the index.
  const bool distinct = are_distinct(frames);
  into.make_index();
  const size_t before = into.size();
  std::vector<StackId> places(count);
  for (size_t i = 1; i < count; ++i) {
    const StackNode& node = from[StackId{static_cast<uint32_t>(i)}];
    const StackId caller = places[node.caller.index];
    const FrameId frame = frames[node.frame.index];
    if (!distinct) {
      places[i] = into.push(caller, frame, hashes[i]);
    } else {
      if (caller.index < before) places[i] = into.find(caller, frame, hashes[i]);
      if (!places[i]) places[i] = into.append(caller, frame);
    }
    if (i + ahead < count) prepare(i + ahead);
    if (i + ahead / 2 < count) into.prefetch_node(hashes[i + ahead / 2]);
  }
  return places;
}

}  // namespace memflame
