// SPDX-License-Identifier: BSD-2-Clause
// Which user a command runs as, and who may read what is written about it.
#pragma once

#include <string>

#include "cli/files/output_file.h"
#include "probes/options/options.h"

namespace memflame {

// The user a command runs as: the one named, else the caller if root runs under sudo; "" =
// memflame's own.
std::string user_of_command(const Target& target);

// Only the caller may read what is written about processes of another user. Processes that come
// later, by name or anywhere in the system, may be anybody's. `program`: the file of the target's
// command.
Readers readers_of(const Target& target, const std::string& program);

}  // namespace memflame
