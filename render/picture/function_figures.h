// SPDX-License-Identifier: BSD-2-Clause
// Figures by function over all frames of a profile, for pictures that keep only the widest.
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
  // What widths are made of, by the names that viewer/measure.mjs has for it.
  std::vector<std::string> measures;
  std::vector<FrameId> more;  // functions that no node is left of: those with the largest totals
  size_t left = 0;            // further ones, of which only their sums are kept
  // Own and total figures of each measure, then of a difference the totals before and after: what
  // functions have in all frames less what they have in the nodes. By FrameId::index; [0], which is
  // no frame, is the sum over those that are left. A function that calls itself counts once in its
  // totals.
  std::vector<std::vector<int64_t>> beyond;
  int64_t largest = 0;  // of all figures, without their sign
};

// `nodes` are what is kept of `tree`. A measure whose sums leave 64 bits has no figures.
FunctionFigures function_figures(const FrameTree& tree, const DataNodes& nodes,
                                 const Profile& profile, const RenderOptions& options);

}  // namespace memflame
