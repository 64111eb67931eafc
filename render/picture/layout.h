// SPDX-License-Identifier: BSD-2-Clause
// Profile -> boxes. The idea: every box is an exact integer interval [offset, offset + total) in
// the unit of what is drawn, callees lie inside their caller, and whatever is too narrow becomes
// one box per caller, so boxes always add up. Pixels appear only when a picture is written.
// Cost: one pass over the tree for sums and one for boxes, without recursion; the limit on boxes
// takes a selection of the widest, no sort. viewer/layout.mjs does the same in shares of the zoomed
// box.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/profile.h"
#include "render/picture/frame_tree.h"

namespace memflame {

struct LayoutOptions {
  double min_share = 0;  // of the total; smaller frames are merged into one box per caller
  uint32_t max_depth = UINT32_MAX;  // levels, the root's and the one of merged boxes included
  size_t max_boxes = SIZE_MAX;      // of frames; the narrowest are merged when there are more
  Neighbours order = Neighbours::by_name;
  WidthOf width = WidthOf::shown;
  // Nodes that have a box wherever their caller has one, and do not count; empty: none.
  std::vector<bool> attached{};
};

// Covers [offset, offset + total). Callees lie inside their caller, one level deeper, from its
// offset on, without gaps; the rest at its end is the caller's own, `self`.
struct Box {
  int64_t offset = 0;
  int64_t total = 0;
  int64_t self = 0;
  uint32_t depth = 0;   // 0 = the root, which stands for everything
  FrameId frame;        // none for the root and for merged boxes
  uint32_t merged = 0;  // frames merged into this box because they are too narrow (or too deep)
  uint32_t node = 0;    // in the tree; UINT32_MAX for merged boxes
};

struct Layout {
  std::vector<Box> boxes;  // depth-first: callers before callees, from left to right
  std::vector<int64_t>
      values;  // a row for each box: inclusive sums of all columns, with their sign
  size_t columns = 0;
  uint32_t depth = 0;  // levels
  WidthOf width = WidthOf::shown;
  int64_t total = 0;  // of what is drawn
  size_t stacks = 0;  // distinct stacks that are drawn
  // Stacks with a negative own value have no width; their sum is total(shown) - this total. There
  // are none if widths are made from more than one column, or from sizes.
  int64_t undrawn = 0;
  size_t undrawn_stacks = 0;

  std::span<const int64_t> sums(size_t box) const {
    return std::span(values).subspan(box * columns, columns);
  }
};

// The caller of each box, by index in the list; the root's is itself.
std::vector<uint32_t> callers_of(const std::vector<Box>& boxes);

// Throws Error if a sum does not fit in 64 bits.
Layout layout(const Profile& profile, const LayoutOptions& options);

// The same for an existing tree, in its order.
Layout layout(const FrameTree& tree, const Profile& profile, const LayoutOptions& options);

// What captions say of stacks is said of those with all frames.
inline void take_counts(Layout& drawn, const Layout& all) {
  drawn.stacks = all.stacks;
  drawn.undrawn = all.undrawn;
  drawn.undrawn_stacks = all.undrawn_stacks;
}

// The layout with more frames merged. Only the options on merging matter.
Layout with_fewer_boxes(const Layout& layout, const Profile& profile, const LayoutOptions& options);

}  // namespace memflame
