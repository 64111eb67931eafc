// SPDX-License-Identifier: BSD-2-Clause
// Processes that have what memflame gave a command: they descend from it, also where the processes
// between have ended.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace memflame {

// Those whose program began with "NAME=VALUE" in its environment, as far as memflame may read that.
// Takes some 20 µs for each process of the machine.
std::vector<pid_t> processes_with(const std::string& variable);

}  // namespace memflame
