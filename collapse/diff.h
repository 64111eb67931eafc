// SPDX-License-Identifier: BSD-2-Clause
// Two profiles of one thing -> what has changed.
#pragma once

#include "core/profile.h"

namespace memflame {

struct DiffOptions {
  // Scales `before` so that its total is that of `after`.
  bool normalize = false;
  // "0x5f3a…" in names becomes "0x...": addresses differ from run to run.
  bool strip_hex = false;
  // Scaled figures are cut off, as FlameGraph's and inferno's tools do, not rounded so that they
  // add up.
  bool truncate = false;
};

// The union of the frames and stacks of both, with the columns "before", "after" (which is shown)
// and "delta", all in the unit of the shown values. Titles, notes and losses of both are kept.
// Throws Error when the units differ, when a sum leaves 64 bits, and when a total that is to be
// scaled is not positive.
Profile diff(Profile before, Profile after, const DiffOptions& options);

}  // namespace memflame
