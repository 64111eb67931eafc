// SPDX-License-Identifier: BSD-2-Clause
// The rules from evidence to a verdict. In the order in which they are asked:
// 1. What an ended process left has leaked, at any age. Blocks of the warm-up are kept.
// 2. A leak: survivors three times as old as any life that has ended, from all quarters of the
//    time, and not fewer than the noise floor. Nothing is called a leak before 30 s of watching. If
//    nothing has been freed, a cache that fills looks the same: it has 45 s for that, and more as
//    long as its growth is logarithmic.
// 3. Freed at the end: old blocks that died in the tail, and none of that age before.
// 4. Kept: no more survivors have come, for a fifth of the time and 5 s at least.
// 5. A cache: the number of live blocks stays the same, while older ones are replaced. Samples
//    scatter, so there the lives must tell: a cache frees nothing young.
// 6. Comes back: everything older than some age has gone.
// What fits none of these cannot be told yet.
#pragma once

#include <optional>

#include "collapse/verdicts/evidence.h"

namespace memflame {

// None if the track never had a block.
std::optional<Verdict> judge(const TrackRecord& record, const RunClock& clock,
                             const VerdictOptions& options);

}  // namespace memflame
