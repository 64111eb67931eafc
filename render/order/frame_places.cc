// SPDX-License-Identifier: BSD-2-Clause
#include "render/order/frame_places.h"

#include <algorithm>
#include <tuple>

#include "render/order/ordered_stacks.h"

namespace memflame {
namespace {

std::vector<bool> used_frames(const Profile& profile) {
  std::vector<bool> used(profile.frames.size());
  std::vector<bool> stacks = touched_stacks(profile);
  for (auto i = static_cast<uint32_t>(stacks.size()); i-- > 1;) {
    if (!stacks[i]) continue;
    const StackNode& node = profile.stacks[StackId{i}];
    used[node.frame.index] = true;
    stacks[node.caller.index] = true;
  }
  return used;
}

bool is_plain(const Profile& profile, const Frame& frame) {
  return frame.kind == FrameKind::user && !frame.module && !frame.file && frame.line == 0 &&
         !profile.strings[frame.function].starts_with('[');
}

}  // namespace

FramePlaces frame_places(const Profile& profile) {
  const auto key = [&](const Frame& frame) {
    return std::tuple(frame.kind, profile.strings[frame.module], profile.strings[frame.file],
                      frame.line);
  };
  const auto less = [&](const Frame& a, const Frame& b) { return key(a) < key(b); };
  const std::vector<bool> used = used_frames(profile);
  FramePlaces places;
  places.of_frame.resize(profile.frames.size());
  const auto place_of = [&](uint32_t i) {
    Frame place = profile.frames[FrameId{i}];
    place.function = {};
    return place;
  };
  const auto has_place = [&](uint32_t i) {
    return used[i] && !is_plain(profile, profile.frames[FrameId{i}]);
  };
  std::vector<Frame>& list = places.list;
  for (uint32_t i = 1; i < used.size(); ++i)
    if (has_place(i)) list.push_back(place_of(i));
  std::sort(list.begin(), list.end(), less);
  list.erase(std::unique(list.begin(), list.end()), list.end());
  for (uint32_t i = 1; i < used.size(); ++i)
    if (has_place(i))
      places.of_frame[i] =
          1 + static_cast<uint32_t>(std::lower_bound(list.begin(), list.end(), place_of(i), less) -
                                    list.begin());
  return places;
}

}  // namespace memflame
