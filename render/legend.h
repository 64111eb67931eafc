// What the colours of a picture mean.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/difference.h"
#include "render/palette.h"

namespace memflame {

struct LegendEntry {
  Rgb colour;
  std::string_view label;
};

using PresentKinds = std::array<bool, box_kinds>;

// The kinds of the frames that are drawn; none() stands for what is merged, but for the first, the
// root.
PresentKinds box_kinds_of(const Profile& profile, std::span<const FrameId> frames);

std::vector<LegendEntry> legend(const Palette& palette, const PresentKinds& present,
                                const std::optional<Difference>& difference);

}  // namespace memflame
