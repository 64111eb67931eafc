// SPDX-License-Identifier: BSD-2-Clause
// The names that a JIT gives to its code.
#pragma once

#include <sys/types.h>

#include <string>

namespace memflame {

// JITs write /tmp/perf-PID.map, in the process's own root and with its own view of the pid. Anybody
// can create a file of that name, so it must belong to the process's user or to root. Empty if
// there is none; read up to about 256 MiB.
std::string read_perf_map(pid_t pid);

}  // namespace memflame
