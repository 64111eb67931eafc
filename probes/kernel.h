// SPDX-License-Identifier: BSD-2-Clause
// What the running kernel can do, found out once. Nothing here is needed by the baseline (6.1).
#pragma once

#include <string>

namespace memflame {

struct KernelFeatures {
  std::string release;            // uname -r
  bool uprobe_multi = false;      // 6.6: one link for many probes, and quick detaching
  bool uprobe_multi_pid = false;  // 6.10: its filter takes all threads of a process, not one alone
  bool uprobe_session = false;    // 6.13: entry and return are one link and one program
  bool emulates_long_nops = false;   // 6.18: a probe on a nop of any length is cheap
  bool find_vma = false;             // 5.17: programs can ask what is mapped at an address
  bool task_storage = false;         // 6.2: what is kept with a task can always be looked up
  bool exact_rss_stat = false;       // 6.2: resident counters are exact at each change
  bool syscall_tracepoints = false;  // tracefs could be reached; else raw tracepoints are used
  unsigned possible_cpus = 1;
};

const KernelFeatures& kernel_features();

}  // namespace memflame
