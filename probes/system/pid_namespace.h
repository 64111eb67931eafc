// SPDX-License-Identifier: BSD-2-Clause
// The PID namespace that memflame runs in. Every pid that is typed, shown or read in /proc is one
// of that namespace; the maps of BPF programs know processes by their number in the initial one.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <unordered_map>

namespace memflame {

bool runs_in_initial_namespace();

class PidNamespace {
 public:
  PidNamespace() { look(); }

  // Lists the processes that exist now. Throws Error(requirement) if the kernel does not allow it.
  void look();

  bool is_initial() const { return level_ == 0; }
  uint32_t level() const { return level_; }
  uint32_t inode() const { return inode_; }

  // The number of a listed process in the initial namespace; 0 if it was not listed.
  pid_t initial(pid_t pid) const;

 private:
  uint32_t level_ = 0;
  uint32_t inode_ = 0;
  std::unordered_map<pid_t, pid_t> initial_;
};

// Throws Error(requirement) unless /proc is mounted and shows memflame's own PID namespace.
void require_own_proc();

}  // namespace memflame
