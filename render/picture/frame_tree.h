// SPDX-License-Identifier: BSD-2-Clause
// Profile -> the tree that pictures are made from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/profile.h"
#include "render/picture/node_lines.h"
#include "render/picture/options.h"

namespace memflame {

// Node 0 is the root, which stands for everything; callers come before their callees, and the nodes
// below n are [n + 1, end[n]). Callees of one caller with the same function, module and kind are
// one node, whatever their source lines, unless these are held apart; in the order of time only
// consecutive ones. Nodes without a value in any column, own or below, are left out.
struct FrameTree {
  std::vector<FrameId> frame;    // none for the root; else one of those that differ by lines only
  std::vector<uint32_t> caller;  // the root's is itself
  std::vector<uint32_t> end;
  size_t columns = 0;
  std::vector<int64_t> own;     // rows of `columns` figures without those of callees
  std::vector<int64_t> wide{};  // the width of own figures, where rows do not tell it (blame.h)
  NodeLines lines{};            // by node
  std::vector<uint32_t> of_stack{};    // the node of each stack, by StackId::index, 0 if it is left
                                       // out; empty in the order of time
  std::vector<uint32_t> marked{};      // the node of each of Profile::marks, 0 if it has none
  std::vector<int64_t> marked_wide{};  // the width of these, where the node has more of its own

  size_t size() const { return frame.size(); }
  std::span<const int64_t> row(size_t node) const {
    return std::span(own).subspan(node * columns, columns);
  }
};

// Throws the Error of sums that do not fit in 64 bits.
[[noreturn]] void sums_too_large();
int64_t checked_sum(int64_t a, int64_t b);  // throws it

// The width that a node's own figures are drawn with, never negative. If the profile is not a
// difference, `before` and `after` are both the shown column.
struct Width {
  WidthOf of = WidthOf::shown;
  size_t before = 0, after = 0;  // columns

  // By a row of own values. Throws Error if the result does not fit in 64 bits.
  int64_t operator()(std::span<const int64_t> row) const;
};
Width width_of(const Profile& profile, WidthOf of);

// Whether callees of one caller that differ only in their source lines are one node. A picture that
// draws them as one may hold them apart, if it can also draw them by line; in the order of time
// they are one in any case.
enum class LineNodes : uint8_t { together, apart };

// Neighbours by width start with the widest, by name they are in bytewise order. Throws Error if a
// sum does not fit in 64 bits, and (usage) if the order of time is requested but the profile has
// none.
FrameTree frame_tree(const Profile& profile, Neighbours order, const Width& width,
                     LineNodes lines = LineNodes::together);

// Inclusive values: rows like `own`, with those of all callees. Throws Error if a sum does not fit
// in 64 bits.
std::vector<int64_t> inclusive(const FrameTree& tree, const Profile& profile);

}  // namespace memflame
