// SPDX-License-Identifier: BSD-2-Clause
// Stacks of one table in another one.
#pragma once

#include <vector>

#include "core/stack.h"

namespace memflame {

// Adds all stacks of `from` to `into`; where they are there, by StackId::index of `from`. `frames`
// says the same of frames.
std::vector<StackId> merge_stacks(StackTable& into, const StackTable& from,
                                  const std::vector<FrameId>& frames);

}  // namespace memflame
