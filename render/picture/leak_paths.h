// SPDX-License-Identifier: BSD-2-Clause
// Where a picture points out leaks. The idea: a leak is often narrow, so colour alone would not
// show it. Its own interval, at its leaf's end of the picture, is drawn as a stripe in each box
// from there to the root; boxes that are mostly leak get an outline, and the leaf a flag with
// words. The marks are dark with a light edge, so one of the two stands out from any colour of a
// palette. viewer/marks.mjs does the same in shares of the zoomed box.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/profile.h"
#include "render/picture/layout.h"
#include "render/picture/legend.h"

namespace memflame {

inline constexpr Rgb leak_colour{0x94, 0x00, 0x24}, leak_edge{0xff, 0xff, 0xff};
inline constexpr double least_stripe = 3;  // px

struct LeakStripe {
  size_t box = 0;
  int64_t offset = 0, total = 0;  // the leak's, in the unit of the layout; 0: too narrow to be told
  bool is_outlined = false;       // the box is mostly leak
};

struct LeakFlag {
  size_t box = 0;   // the leaf's, or the merged box that it is in
  size_t mark = 0;  // in Profile::marks
  int64_t offset = 0;
};

struct LeakPaths {
  std::vector<LeakStripe> stripes;
  std::vector<LeakFlag> flags;
};

// For each of Profile::marks the box of its leaf; `is_exact` is false if the leaf has none: then it
// is the box that it is merged into. No box: none.
struct MarkedBox {
  size_t box = SIZE_MAX;
  bool is_exact = false;
};
std::vector<MarkedBox> marked_boxes(const Layout& layout, const FrameTree& tree);

LeakPaths leak_paths(const Layout& layout, const FrameTree& tree, const Profile& profile);

// What a box's tooltip says of verdicts, by box: its own, or which leaks it leads to. Needs
// escaping.
std::vector<std::string> verdict_lines(const Layout& layout, const FrameTree& tree,
                                       const Profile& profile);

// The entry of the legend; none if nothing is marked.
std::vector<LegendEntry> leak_legend(const Profile& profile);

}  // namespace memflame
