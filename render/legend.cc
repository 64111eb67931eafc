#include "render/legend.h"

namespace memflame {
namespace {

Rgb middle(const ColourRange& range) {
  return {static_cast<uint8_t>((range.low.red + range.high.red) / 2),
          static_cast<uint8_t>((range.low.green + range.high.green) / 2),
          static_cast<uint8_t>((range.low.blue + range.high.blue) / 2)};
}

}  // namespace

PresentKinds box_kinds_of(const Profile& profile, std::span<const FrameId> frames) {
  PresentKinds present{};
  for (size_t i = 1; i < frames.size(); ++i) {
    const Frame& frame = profile.frames[frames[i]];
    const BoxKind kind =
        frames[i] ? box_kind(profile.strings[frame.function], frame.kind) : BoxKind::merged;
    present[static_cast<size_t>(kind)] = true;
  }
  return present;
}

std::vector<LegendEntry> legend(const Palette& palette, const PresentKinds& present,
                                const std::optional<Difference>& difference) {
  if (difference)
    return {{palette.change_colour(-1), "shrunk to nothing"},
            {palette.change_colour(-0.5), "to the half"},
            {palette.change_colour(0), "as before"},
            {palette.change_colour(0.5), "to twice as much"},
            {palette.change_colour(1), "new"}};
  std::vector<LegendEntry> entries;
  for (size_t i = 0; i < box_kinds; ++i)
    if (present[i]) entries.push_back({middle(palette.ranges[i]), box_kind_info[i].legend});
  return entries;
}

}  // namespace memflame
