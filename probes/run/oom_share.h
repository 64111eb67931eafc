// SPDX-License-Identifier: BSD-2-Clause
// When memory runs out, the kernel kills the process that holds most of it. In a small control
// group that would be memflame, and nobody would tell what happened.
#pragma once

#include <sys/types.h>

#include "probes/run/memory_plan.h"

namespace memflame {

// The kernel weighs a process in thousandths of the memory that is short. What is to be added to
// memflame's weight (oom_score_adj) so that the memory in its plan counts for nothing.
int oom_adjustment(const MemoryPlan& plan);

// Adds it, which needs CAP_SYS_RESOURCE. Without that, a command that waits for its release gets
// the difference on top of its own weight, and so do its children. `command`: 0 if memflame started
// none; other programs keep their weight.
void step_behind_target(const MemoryPlan& plan, pid_t command);

}  // namespace memflame
