// SPDX-License-Identifier: BSD-2-Clause
// The stacks of a profile in an order that does not depend on how they were added.
#pragma once

#include <vector>

#include "core/profile.h"

namespace memflame {

// Every stack that has values and all its callers: a caller before its callees, and those by name,
// module, file, line, kind and address. The stack without a frame is the first, if it has values.
// No recursion; memory is 12 bytes per stack.
std::vector<StackId> ordered_stacks(const Profile& profile);

// Whether values were added to a stack, by StackId::index.
std::vector<bool> touched_stacks(const Profile& profile);

}  // namespace memflame
