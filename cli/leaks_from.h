// SPDX-License-Identifier: BSD-2-Clause
// memflame leaks --from FILE: the report on a recording instead of a running program.
#pragma once

#include "cli/command_page.h"
#include "cli/commands.h"

namespace memflame {

// The options that go with --from.
CommandPage leaks_from_page();

// Prints the report. Throws Error.
int run_leaks_from(const Arguments& arguments);

}  // namespace memflame
