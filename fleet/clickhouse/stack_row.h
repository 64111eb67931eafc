// SPDX-License-Identifier: BSD-2-Clause
// A stack as the store keeps it: arrays with an entry for each frame, root first. SQL reads them,
// and they give the frames back.
#pragma once

#include <string>

#include "core/profile.h"
#include "fleet/clickhouse/row_binary.h"

namespace memflame {

// The arrays of a stack, without its hash: they are what is hashed.
std::string stack_row(const Profile& profile, StackId stack);

// The same arrays, for queries.
extern const char* const stack_arrays;

// Reads them, and adds the stack to the profile. `code`: keep its addresses. Throws Error when the
// arrays do not fit together.
StackId read_stack_row(RowReader& rows, Profile& profile, bool code);

}  // namespace memflame
