// SPDX-License-Identifier: BSD-2-Clause
// Verdicts on memory that a garbage collector frees. The runtime's figures say how much is in use
// after each collection, and not how old a block is. What nobody refers to any more is gone after a
// collection, so growth that goes on through collections is the evidence:
// 1. A leak: what is in use rises in each third of the time, its growth is linear or faster, and
//    all of that is above what samples scatter.
// 2. Kept: nothing new has come for half of the time. Level: no growth, though new blocks come.
// What a process had in use when it ended has not leaked.
#pragma once

#include <optional>

#include "collapse/verdicts/evidence.h"

namespace memflame {

Verdict judge_collected(const TrackRecord& record, const RunClock& clock,
                        const VerdictOptions& options);

}  // namespace memflame
