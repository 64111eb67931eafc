// SPDX-License-Identifier: BSD-2-Clause
// What processes without an agent execute, and those that they start: however soon it ends, with
// no rights but those for one's own processes. The kernel tells it by perf events without samples,
// which are put on a process and inherited by its children. It does where
// kernel.perf_event_paranoid is 2 at most and no filter of system calls forbids it. Costs a
// descriptor for each processor and process that is watched.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/unique_fd.h"
#include "probes/run/takeover.h"

namespace memflame::inside {

class Witness {
 public:
  Witness();
  ~Witness();
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

  // Whether the kernel tells anything.
  bool works() const { return !rings_.empty(); }
  // Watches a process. If it `is_about_to` execute a program, that one is known.
  void watch(pid_t pid, bool is_about_to);
  // An agent speaks in this process, and tells what it executes.
  void forget(pid_t pid) { watched_.erase(pid); }
  // What was executed since the last call.
  std::vector<Takeover::Left> take();
  // How often nobody can tell: some are missing.
  uint64_t lost() const { return lost_; }

 private:
  struct Ring;
  struct Told;
  void read(std::span<const std::byte> record, std::vector<Told>& told);

  std::vector<std::unique_ptr<Ring>> rings_;  // one for each processor
  std::vector<UniqueFd> events_;
  std::set<pid_t> watched_;
  std::set<pid_t> about_to_;  // of them
  uint64_t lost_ = 0;
};

}  // namespace memflame::inside
