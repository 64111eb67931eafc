// SPDX-License-Identifier: BSD-2-Clause
// A process of its own for what others wrote, which gives up its rights, for good, before it reads
// that.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace memflame {

struct Apart {
  pid_t pid = 0;
  int socket = -1;  // one end of a stream; the caller closes it
};
// Forks a process that runs `work`, which gets the other end and must not return. No signal handler
// of this process runs in it. `what` it does is for errors: "reads names". Throws Error.
Apart start_apart(const std::string& what, const std::function<void(int socket)>& work);

// Gives up, for good, all capabilities of the calling thread, and set-user-id programs.
void drop_capabilities();

struct SandboxLimits {
  uint64_t data_bytes = 0;  // on top of what the process already has; 0 = no limit
  // Sockets of a server that are kept as well, not descriptor 0. With them the process may take
  // connections and start threads.
  std::vector<int> server = {};
  // It must open files, such as fonts. Then there is no filter; all else is done.
  bool opens_files = false;
  const char* name = "memflame-names";  // of the process, in `ps`
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
