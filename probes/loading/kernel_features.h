// SPDX-License-Identifier: BSD-2-Clause
// Features of the running kernel, detected once. The baseline (6.1) needs none of them.
#pragma once

#include <string>

namespace memflame {

struct KernelFeatures {
  std::string release;            // uname -r
  bool uprobe_multi = false;      // 6.6: one link for many probes, and quick detaching
  bool uprobe_multi_pid = false;  // 6.10: its filter accepts all threads of a process, not only one
  bool uprobe_session = false;    // 6.13: entry and return are one link and one program
  bool emulates_long_nops = false;   // 6.18: a probe on a nop of any length is cheap
  bool find_vma = false;             // 5.17: programs can ask what is mapped at an address
  bool task_storage = false;         // 6.2: state kept with a task can always be looked up
  bool exact_rss_stat = false;       // 6.2: resident counters are exact at each change
  bool syscall_tracepoints = false;  // tracefs is reachable; otherwise raw tracepoints are used
  unsigned possible_cpus = 1;
};

const KernelFeatures& kernel_features();

// Whether a probe turns a nop of five bytes into a call, which writes below the stack pointer where
// a function may have data.
bool turns_nops_into_calls();

// Without the features of BPF, which need rights to be known.
KernelFeatures features_without_bpf();

}  // namespace memflame
