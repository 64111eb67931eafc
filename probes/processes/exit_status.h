// SPDX-License-Identifier: BSD-2-Clause
// How processes ended, also those that are not memflame's own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace memflame {

// The status of an ended process as wait() has it, which is left for whoever waits for it. Once
// it was waited for, only Linux 6.15 and newer know it. 0 if it is not known, too.
// `process`: a pidfd of it.
uint32_t exit_status_of(int process, pid_t pid);

// "signal 11 (SIGSEGV)"
std::string signal_text(int signal);

// How often the kernel killed for want of memory, on the machine and in all control groups.
class OomKills {
 public:
  explicit OomKills(std::string vmstat = "/proc/vmstat");
  // A process was killed by SIGKILL: whether that may be one of the kernel's kills since this was
  // made. Each of them explains one process.
  bool explain();

 private:
  std::string vmstat_;
  uint64_t explained_;
};

}  // namespace memflame
