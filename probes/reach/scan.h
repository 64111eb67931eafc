// SPDX-License-Identifier: BSD-2-Clause
// Scans a stopped process: which of its known blocks pointers still lead to.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "probes/reach/flood.h"
#include "probes/reach/tracing.h"

namespace memflame {

struct ScanFacts {
  pid_t pid = 0;
  // Whether all blocks were known: then memory that the allocator owns besides holds no root.
  bool is_exact = false;
  std::string why_not;  // why there is no result; "" if there is
  double stopped_s = 0;
  uint64_t bytes_read = 0, bytes_unread = 0;
};

struct ProcessScan {
  ScanFacts facts;
  std::vector<uint64_t> addresses;  // of the blocks, sorted
  std::vector<Reach> reach;         // of each

  // Unknown if there is no such block.
  Reach of(uint64_t address) const;
};

// All threads are stopped, and stay so. `blocks` in any order. Gives up after ten seconds. Sets all
// but stopped_s.
ProcessScan scan_process(pid_t pid, std::span<const StoppedThread> threads,
                         std::vector<KnownBlock> blocks, bool all_blocks_known);

}  // namespace memflame
