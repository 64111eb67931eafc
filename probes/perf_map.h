// SPDX-License-Identifier: BSD-2-Clause
// The names that a JIT gives to the code it has made.
#pragma once

#include <sys/types.h>

#include <string>

namespace memflame {

// JITs write /tmp/perf-PID.map, in the process's own root and with the pid as it sees it. Anybody
// can write a file of that name, so it has to belong to the process's user or to root. Empty when
// there is none; read to about 256 MiB.
std::string read_perf_map(pid_t pid);

}  // namespace memflame
