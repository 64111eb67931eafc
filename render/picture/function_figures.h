// SPDX-License-Identifier: BSD-2-Clause
// Values per function over all frames of a profile, for pictures that keep only the widest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/profile.h"
#include "render/picture/frame_tree.h"

namespace memflame {

struct DataNodes;

struct FunctionFigures {
  // The figures that widths can be made from, by their ids in viewer/measure.mjs.
  std::vector<std::string> measures;
  // The words for Blame: `beyond` has its columns for each of these.
  std::vector<std::string> blames;
  std::vector<FrameId> more;  // functions without a node: those with the largest totals
  size_t left = 0;            // how many more there are; only their sums are kept
  // Own and total values of each measure, then for a difference the totals before and after: the
  // function's values in all frames minus those in the nodes. By FrameId::index; [0], which is not
  // a frame, is the sum over the functions left out. A function that calls itself counts once in
  // its totals.
  std::vector<std::vector<int64_t>> beyond;
  int64_t largest = 0;  // of all figures, without their sign
};

// `nodes` are those kept of `tree`. A measure whose sums do not fit in 64 bits has no values.
FunctionFigures function_figures(const FrameTree& tree, const DataNodes& nodes,
                                 const Profile& profile, const RenderOptions& options);

}  // namespace memflame
