// SPDX-License-Identifier: BSD-2-Clause
// The names that a watched JIT gives to its code.
#pragma once

#include <sys/types.h>

#include <string>

namespace memflame {

// What the process wrote to its perf-PID.map; empty if there is none.
std::string perf_map_of(pid_t pid);

}  // namespace memflame
