// SPDX-License-Identifier: BSD-2-Clause
// The meaning of a picture's colours, and the shares of code by owner.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "render/picture/code_shares.h"
#include "render/picture/palette.h"

namespace memflame {

struct LegendEntry {
  std::optional<Rgb> colour{};  // none: words only
  std::string label{};
  std::string tooltip{};
};

// The legend of the frames that are drawn; the first is the root, and empty ids stand for merged
// boxes. With `by_change` boxes are coloured by their change.
std::vector<LegendEntry> legend(const Profile& profile, const Palette& palette,
                                std::span<const FrameId> frames, bool by_change);

// Whose code has which colour, for a picture without shares. Empty unless the palette has colours
// for libraries.
std::vector<LegendEntry> code_colours(const Palette& palette);

// A heading, and whose code has how much, the largest first, in tenths of a percent that add up to
// 100 %. The smallest libraries are summed up.
std::vector<LegendEntry> code_legend(const Profile& profile, const Palette& palette,
                                     const CodeShares& shares);

}  // namespace memflame
