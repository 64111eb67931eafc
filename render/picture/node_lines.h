// SPDX-License-Identifier: BSD-2-Clause
// The source lines that a box stands for: frames of a profile that differ only in file and line are
// drawn as one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/profile.h"

namespace memflame {

// A list of frames for each of some owners (nodes of a tree, or functions), in order of file and
// line. Frames without a file are in it too.
struct NodeLines {
  std::vector<uint32_t> first{};   // by owner, and one more; empty: no frame has a source file
  std::vector<FrameId> frame{};    // those of owner n are [first[n], first[n + 1])
  std::vector<int64_t> figures{};  // a row of `columns` inclusive sums for each
  size_t columns = 0;

  bool empty() const { return first.empty(); }
  std::span<const FrameId> frames(size_t owner) const {
    return std::span(frame).subspan(first[owner], first[owner + 1] - first[owner]);
  }
  std::span<const int64_t> row(size_t entry) const {
    return std::span(figures).subspan(entry * columns, columns);
  }
};

// Values of owners and frames in any order; several for one frame add up. A sum stops at 64 bits,
// since it only decides which line comes first.
struct LineParts {
  std::vector<uint32_t> owner{};
  std::vector<FrameId> frame{};
  std::vector<uint32_t> row{};  // which of the rows of figures
};
NodeLines node_lines(const Profile& profile, size_t owners, const LineParts& parts,
                     std::span<const int64_t> figures);

// The lines of functions, by FrameId::index: `frame` has the frame that each node of `lines` is
// drawn as.
NodeLines function_lines(const Profile& profile, const NodeLines& lines,
                         std::span<const FrameId> frame);

// The lines of some nodes, in their order; UINT32_MAX: a node without lines.
NodeLines picked(const NodeLines& lines, std::span<const uint32_t> nodes);

// The index of the owner's frame that has a file and the most of a column, by size; the first among
// equals, 0 if none has a file.
size_t main_entry(const Profile& profile, const NodeLines& lines, size_t owner, size_t column);

// For one owner, the frame with the most of a column, and how many other lines there are.
struct MainLine {
  FrameId frame;  // none: no line is known
  size_t others = 0;
};
MainLine main_line(const Profile& profile, const NodeLines& lines, size_t owner, size_t column);

}  // namespace memflame
