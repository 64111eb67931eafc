// SPDX-License-Identifier: BSD-2-Clause
// Two profiles of the same thing -> what has changed. The result takes over the tables of `after`,
// and the stacks of `before` are merged into them: one look-up per stack. Scaled values are rounded
// by the largest-remainder method, so that they add up to the exact total.
#pragma once

#include "core/profile.h"

namespace memflame {

// The note of a picture of a run that goes on.
inline constexpr const char* so_far_note = "so far: the run continues";

struct DiffOptions {
  // Scales `before` so that its total equals that of `after`.
  bool normalize = false;
  // "0x5f3a…" in names becomes "0x...": addresses differ from run to run.
  bool strip_hex = false;
  // Truncates scaled values, as FlameGraph's and inferno's tools do, instead of rounding them so
  // that they add up.
  bool truncate = false;
  // Both are of one run, whose losses count once. Pictures that tell so always are.
  bool one_run = false;
};

// The union of the frames and stacks of both, with the columns "before", "after" (which is shown)
// and "delta", all in the unit of the shown values. Titles, notes and losses of both are kept.
// Throws Error if the units differ, if a sum does not fit in 64 bits, or if a total that is to be
// scaled is not positive.
Profile diff(Profile before, Profile after, const DiffOptions& options);

}  // namespace memflame
