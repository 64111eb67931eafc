#include "render/plain_frames.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "render/name_order.h"

namespace memflame {

PlainFrames plain_frames(const Profile& profile) {
  std::vector<std::string_view> names(profile.strings.size());
  for (uint32_t i = 0; i < names.size(); ++i) names[i] = profile.strings[StringId{i}];
  std::vector<uint32_t> place(names.size());
  uint32_t next = 0;
  for (const uint32_t name : name_order(names)) place[name] = next++;

  const auto key = [&](uint32_t i) {
    const Frame& frame = profile.frames[FrameId{i}];
    return std::tuple(place[frame.function.index], place[frame.module.index], frame.kind);
  };
  std::vector<uint32_t> order(profile.frames.size() - 1);
  std::iota(order.begin(), order.end(), 1U);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  PlainFrames out;
  out.rank.resize(profile.frames.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const bool same = i > 0 && key(order[i - 1]) == key(order[i]);
    if (same) out.distinct = false;
    if (!same) out.of_rank.push_back(FrameId{order[i]});
    out.rank[order[i]] = static_cast<uint32_t>(out.of_rank.size() - 1);
  }
  return out;
}

}  // namespace memflame
