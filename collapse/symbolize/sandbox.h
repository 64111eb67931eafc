// SPDX-License-Identifier: BSD-2-Clause
// Gives up a process's rights, for good, before it reads what others wrote.
#pragma once

#include <cstdint>

namespace memflame {

struct SandboxLimits {
  uint64_t data_bytes = 0;  // on top of what the process already has; 0 = no limit
};

// Call it in a forked child that has one thread. What remains: the socket, which becomes descriptor
// 0, memory, and system calls that need only these. Opening a file fails with EACCES, because
// libraries try it; any other system call ends the process by SIGSYS. Signals that others send are
// blocked. The process ends with the thread that forked it, and is the first to be killed when the
// machine runs out of memory. Returns false if the kernel has no filters for system calls; all else
// is done.
//
// Builds with AddressSanitizer have neither filter nor memory limit, as its runtime opens files and
// maps shadow memory; stderr stays open there.
[[nodiscard]] bool enter_sandbox(int socket, const SandboxLimits& limits);

}  // namespace memflame
