// SPDX-License-Identifier: BSD-2-Clause
// When memory runs out, the kernel kills the process that holds most of it. In a small control
// group that would be memflame, and nobody would tell what happened.
#pragma once

#include "probes/run/memory_plan.h"

namespace memflame {

// The kernel weighs a process in thousandths of the memory that is short. What is to be added to
// memflame's weight (oom_score_adj) so that the memory in its plan counts for nothing.
int oom_adjustment(const MemoryPlan& plan);

// Adds it, where the kernel allows it (CAP_SYS_RESOURCE). Programs that memflame has started by now
// keep their weight.
void step_behind_target(const MemoryPlan& plan);

}  // namespace memflame
