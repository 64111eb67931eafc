// SPDX-License-Identifier: BSD-2-Clause
// The processes that a run watches: which ones, their address spaces and code, what the OS says of
// their memory, and how they ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/options.h"
#include "probes/pids/pid_namespace.h"
#include "probes/processes/cgroups.h"
#include "probes/processes/deaths.h"
#include "probes/processes/os_ledger.h"
#include "probes/processes/sideband.h"
#include "probes/processes/spaces.h"

namespace memflame {

class Processes {
 public:
  // Finds the named cgroups, and begins to log what code processes map. Throws Error.
  Processes(const Target& target, bool exact_counters);

  // The processes that the target names, or all, as far as they exist now.
  std::vector<pid_t> present() const;

  PidNamespace& pids() { return pids_; }
  const PidNamespace& pids() const { return pids_; }
  Spaces& spaces() { return spaces_; }
  const Spaces& spaces() const { return spaces_; }
  OsLedger& os() { return os_; }
  const OsLedger& os() const { return os_; }
  const Deaths& deaths() const { return deaths_; }
  // The ids of the cgroups that the target names; empty if it names none.
  std::vector<uint64_t> cgroup_ids() const;

  // Takes up a process that existed before the run, in the space with this number.
  void adopt(SpaceId space, pid_t pid);
  // BPF says that a process begins; called as soon as the record is taken from the ring.
  void begin(const bpf::space_record& record);
  // The same, or that it ends; called in the record's turn, when all that was mapped before is
  // known.
  void take(const bpf::space_record& record);

  // Takes over what has been mapped up to now.
  void read_log();
  uint64_t log_records_lost() const { return sideband_.lost(); }
  // See LiveRun.
  std::optional<double> memory_pressure() const;
  // Keeps recent figures of the OS, because a process that is killed leaves none.
  void poll_os();

 private:
  void place(SpaceId space, uint64_t cgroup);

  Target target_;
  PidNamespace pids_;
  Sideband sideband_;
  Spaces spaces_;
  std::optional<Cgroups> cgroups_;
  OsLedger os_;
  Deaths deaths_;
  uint64_t next_reading_ns_ = 0;
};

}  // namespace memflame
