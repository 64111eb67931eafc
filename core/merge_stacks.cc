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
  constexpr size_t ahead = 32;
  const size_t count = from.size();
  const bool distinct = are_distinct(frames);
  into.make_index();
  const size_t before = into.size();
  std::vector<StackId> places(count);
  // Memory is fetched before it is needed, of the index and then of the stack. A caller that has no
  // place yet is a few stacks before, and then its callee mostly comes right after it in `into`,
  // too.
  const auto prepare = [&](size_t now, size_t i, const auto& fetch) {
    if (i >= count) return;
    const StackNode& node = from[StackId{static_cast<uint32_t>(i)}];
    const StackId caller = places[node.caller.index];
    if (node.caller.index < now && caller.index < before) fetch(caller, frames[node.frame.index]);
  };
  StackId last;  // found
  for (size_t i = 1; i < count; ++i) {
    const StackNode& node = from[StackId{static_cast<uint32_t>(i)}];
    const StackId caller = places[node.caller.index];
    const FrameId frame = frames[node.frame.index];
    prepare(i, i + ahead, [&](StackId c, FrameId f) { into.prefetch(c, f); });
    prepare(i, i + ahead / 2, [&](StackId c, FrameId f) { into.prefetch_node(into.likely(c, f)); });
    // If both are in one order, what follows here follows there.
    if (into.is_at(last.index + 1, caller, frame) && last.index + 1 < before) {
      places[i] = last = StackId{last.index + 1};
      continue;
    }
    // If the caller has just been added, its callee cannot be in `into` yet and is not looked up.
    // All stacks of `from` stay distinct, so none has to find another, and append() may skip the
    // index.
    if (distinct && caller.index >= before) {
      places[i] = into.append(caller, frame);
      continue;
    }
    const StackId known = into.find(caller, frame);
    places[i] = known ? known : distinct ? into.append(caller, frame) : into.add(caller, frame);
    if (known) last = known;
  }
  return places;
}

}  // namespace memflame
