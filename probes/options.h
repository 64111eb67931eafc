// What the user asked a probe to do.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace memflame {

// At most one of pids, comm and command is set; none of them means the whole system.
struct Target {
  std::vector<pid_t> pids;
  std::string comm;                  // every process of that name, at most 15 bytes
  std::vector<std::string> command;  // argv of a program to start
  std::string user;                  // as whom to start it; empty = as memflame runs
  bool follow_children = true;

  bool whole_system() const { return pids.empty() && comm.empty() && command.empty(); }
};

struct ProbeOptions {
  Target target;
  std::string value;         // a name of Probe::values; empty = the first
  std::string kind = "all";  // mmap only
  std::optional<double> seconds;
  bool kernel_stacks = false;
  bool status_line = false;  // live line on stderr
  bool verbose = false;
  uint32_t max_live = 0;            // entries of the live table; 0 = from the machine's memory
  uint32_t max_stacks = 131072;     // about 100 bytes of kernel memory each
  uint32_t ring_bytes = 16u << 20;  // a power of two
  int ready_fd = -1;                // gets "1\n" when counting begins
};

}  // namespace memflame
