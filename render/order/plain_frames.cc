// SPDX-License-Identifier: BSD-2-Clause
#include "render/order/plain_frames.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "render/order/name_order.h"

namespace memflame {
namespace {

// The rank of each string.
std::vector<uint32_t> string_places(const Profile& profile) {
  std::vector<std::string_view> names(profile.strings.size());
  for (uint32_t i = 0; i < names.size(); ++i) names[i] = profile.strings[StringId{i}];
  std::vector<uint32_t> place(names.size());
  uint32_t next = 0;
  for (const uint32_t name : name_order(names)) place[name] = next++;
  return place;
}

}  // namespace

PlainFrames plain_frames(const Profile& profile) {
  const std::vector<uint32_t> place = string_places(profile);
  const auto frame_count = static_cast<uint32_t>(profile.frames.size());
  const auto function = [&](uint32_t i) {
    return place[profile.frames[FrameId{i}].function.index];
  };
  // Grouped by function, few of which have more than one frame.
  std::vector<uint32_t> first(place.size() + 1, 0);
  for (uint32_t i = 1; i < frame_count; ++i) ++first[function(i)];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<uint32_t> order(frame_count - 1);
  for (uint32_t i = frame_count - 1; i > 0; --i) order[--first[function(i)]] = i;

  PlainFrames out;
  out.rank.resize(frame_count);
  const auto key = [&](uint32_t i) {
    const Frame& frame = profile.frames[FrameId{i}];
    return std::pair(place[frame.module.index], frame.kind);
  };
  for (size_t name = 0; name + 1 < first.size(); ++name) {
    const auto begin = order.begin() + first[name], end = order.begin() + first[name + 1];
    std::sort(begin, end, [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
    for (auto frame = begin; frame != end; ++frame) {
      const bool same = frame != begin && key(frame[-1]) == key(*frame);
      if (same) out.distinct = false;
      if (!same) out.of_rank.push_back(FrameId{*frame});
      out.rank[*frame] = static_cast<uint32_t>(out.of_rank.size() - 1);
    }
  }
  return out;
}

}  // namespace memflame
