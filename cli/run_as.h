// SPDX-License-Identifier: BSD-2-Clause
// As whom a command runs, and who may read what is written about it.
#pragma once

#include <string>

#include "cli/output_file.h"
#include "probes/options.h"

namespace memflame {

// The user that a command is to run as: the one named, else the caller where root runs by sudo; ""
// = as memflame runs.
std::string user_of_command(const Target& target);

// Only the caller may read what is written about processes of another user. Those that come later,
// by name or anywhere in the system, may be anybody's. `program`: the file of the target's command.
Readers readers_of(const Target& target, const std::string& program);

}  // namespace memflame
