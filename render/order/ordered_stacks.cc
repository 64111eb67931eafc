// SPDX-License-Identifier: BSD-2-Clause
#include "render/order/ordered_stacks.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace memflame {
namespace {

// The rank of each frame, by FrameId::index.
std::vector<uint32_t> frame_ranks(const Profile& profile) {
  std::vector<uint32_t> order(profile.frames.size());
  std::iota(order.begin(), order.end(), 0);
  const StringTable& strings = profile.strings;
  const auto key = [&](uint32_t id) {
    const Frame& frame = profile.frames[FrameId{id}];
    const CodePlace& place = profile.code[frame.code];
    const CodeMapping& mapping = profile.code[place.mapping];
    return std::tuple(strings[frame.function], strings[frame.module], strings[frame.file],
                      frame.line, frame.kind, frame.start_line, place.address,
                      std::string_view(mapping.build_id), mapping.start, mapping.offset);
  };
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  std::vector<uint32_t> ranks(order.size());
  for (uint32_t i = 0; i < order.size(); ++i) ranks[order[i]] = i;
  return ranks;
}

// Whether the stack or a longer one that begins with it has values, by StackId::index.
std::vector<bool> used_stacks(const Profile& profile) {
  std::vector<bool> used = touched_stacks(profile);
  for (size_t i = used.size() - 1; i > 0; --i)
    if (used[i]) used[profile.stacks[StackId{static_cast<uint32_t>(i)}].caller.index] = true;
  return used;
}

}  // namespace

std::vector<bool> touched_stacks(const Profile& profile) {
  std::vector<bool> touched(profile.stacks.size());
  for (const StackId stack : profile.touched()) touched[stack.index] = true;
  return touched;
}

std::vector<StackId> ordered_stacks(const Profile& profile) {
  const std::vector<bool> used = used_stacks(profile);
  const auto count = static_cast<uint32_t>(used.size());
  const auto node = [&](uint32_t i) { return profile.stacks[StackId{i}]; };
  // The callees of i are callees[first[i], first[i + 1]).
  std::vector<uint32_t> first(count + 1, 0);
  for (uint32_t i = 1; i < count; ++i)
    if (used[i]) ++first[node(i).caller.index + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<uint32_t> callees(first.back());
  // From the last to the first, so that first[] ends up at the beginnings.
  for (uint32_t i = count; i-- > 1;)
    if (used[i]) callees[--first[node(i).caller.index + 1]] = i;
  first.erase(first.begin());
  first.push_back(static_cast<uint32_t>(callees.size()));
  const std::vector<uint32_t> ranks = frame_ranks(profile);
  // Backwards: the last one pushed comes next.
  for (uint32_t i = 0; i < count; ++i)
    std::sort(callees.begin() + first[i], callees.begin() + first[i + 1],
              [&](uint32_t a, uint32_t b) {
                return ranks[node(a).frame.index] > ranks[node(b).frame.index];
              });
  std::vector<StackId> order;
  order.reserve(callees.size() + 1);
  if (touched_stacks(profile)[0]) order.emplace_back();
  std::vector<uint32_t> pending(callees.begin() + first[0], callees.begin() + first[1]);
  while (!pending.empty()) {
    const uint32_t next = pending.back();
    pending.pop_back();
    order.push_back(StackId{next});
    pending.insert(pending.end(), callees.begin() + first[next], callees.begin() + first[next + 1]);
  }
  return order;
}

}  // namespace memflame
