// SPDX-License-Identifier: BSD-2-Clause
// Copies the stacks of one table into another.
#pragma once

#include <vector>

#include "core/stack.h"

namespace memflame {

// Adds all stacks of `from` to `into`; returns their ids there, by StackId::index of `from`.
// `frames` gives the same for frames.
std::vector<StackId> merge_stacks(StackTable& into, const StackTable& from,
                                  const std::vector<FrameId>& frames);

}  // namespace memflame
