#include "core/merge_stacks.h"

#include <algorithm>

namespace memflame {

std::vector<StackId> merge_stacks(StackTable& into, const StackTable& from,
                                  const std::vector<FrameId>& frames) {
  // Their hashes are those of their frames, so they are known, and what they need is fetched,
  // before their callers have been found.
  constexpr size_t ahead = 32;
  const size_t count = from.size();
  std::vector<uint64_t> hashes(count, 0);
  const auto prepare = [&](size_t i) {
    const StackNode& node = from[StackId{static_cast<uint32_t>(i)}];
    hashes[i] = StackTable::hash(hashes[node.caller.index], frames[node.frame.index]);
    into.prefetch(hashes[i]);
  };
  for (size_t i = 1; i < std::min(ahead + 1, count); ++i) prepare(i);
  std::vector<StackId> places(count);
  for (size_t i = 1; i < count; ++i) {
    const StackNode& node = from[StackId{static_cast<uint32_t>(i)}];
    places[i] = into.push(places[node.caller.index], frames[node.frame.index], hashes[i]);
    if (i + ahead < count) prepare(i + ahead);
  }
  return places;
}

}  // namespace memflame
