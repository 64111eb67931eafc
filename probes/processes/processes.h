// SPDX-License-Identifier: BSD-2-Clause
// The processes that a run watches: which ones they are, their address spaces and code, the OS's
// figures of their memory, and how they ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "probes/options/options.h"
#include "probes/processes/deaths.h"
#include "probes/processes/gone.h"
#include "probes/processes/os_ledger.h"
#include "probes/processes/pace.h"
#include "probes/processes/pss.h"
#include "probes/processes/sideband.h"
#include "probes/processes/spaces.h"
#include "probes/system/cgroups.h"
#include "probes/system/pid_namespace.h"

namespace memflame {

class Processes {
 public:
  // Finds the named cgroups, and begins to log the code that processes map, if there is to be a
  // log, which needs rights. Throws Error.
  enum class Log : uint8_t { kernel, none };
  Processes(const Target& target, bool exact_counters, Log log = Log::kernel);

  // The processes that the target names by pid, name or cgroup, or those of the whole system. By
  // name, cgroup or whole system: only processes that exist now, without memflame itself.
  std::vector<pid_t> present() const;

  PidNamespace& pids() { return pids_; }
  const PidNamespace& pids() const { return pids_; }
  Spaces& spaces() { return spaces_; }
  const Spaces& spaces() const { return spaces_; }
  OsLedger& os() { return os_; }
  const OsLedger& os() const { return os_; }
  const Deaths& deaths() const { return deaths_; }
  // The ids of the cgroups that the target names.
  std::vector<uint64_t> cgroup_ids() const;

  // The id of the one that a process is in; 0 if the target names none.
  uint64_t cgroup_of(pid_t pid) const { return cgroups_ ? cgroups_->id_of(pid) : 0; }

  // Watches a process that existed before the run, in the space with this number.
  void adopt(SpaceId space, pid_t pid);
  // A process begins. Called as soon as the record is taken from the ring.
  void begin(const bpf::space_record& record);
  // A process begins or ends. Called when the record is handled: all code that was mapped before is
  // known by then.
  void take(const bpf::space_record& record);

  // Gives back what is kept of processes that had ended by then, except for what living ones have
  // of them. Says which they are, as long as this lives.
  Gone forget(uint64_t time_ns) {
    std::vector<SpaceId> newly = spaces_.forget(time_ns);
    os_.forget(newly);
    return {[this, time_ns](SpaceId space) { return spaces_.had_ended(space, time_ns); },
            std::move(newly)};
  }

  // A space that stands for processes that have ended, of the name of `like`.
  void begin_estate(SpaceId id, SpaceId like) {
    spaces_.begin_estate(id, like);
    os_.begin_estate(id, os_.has_figures(like));
  }

  // Reads the log of what has been mapped up to now.
  void read_log();
  // Programs begin to follow processes: what the log lost while they were loaded concerned nobody,
  // because mappings of processes that are there already are read from /proc.
  void follow_from_now() {
    read_log();
    if (sideband_) sideband_->forget_lost();
  }
  uint64_t log_records_lost() const { return sideband_ ? sideband_->lost() : 0; }
  // See LiveRun.
  std::optional<double> memory_pressure() const;
  // What the watched cgroups use, in bytes; none if no cgroup is watched, or one cannot be read.
  std::optional<int64_t> cgroup_bytes() const;
  // Reads the OS's figures every 200 ms, because a process that is killed leaves none.
  void poll_os();
  // Reads PSS if it is time. Not of the whole system, like all figures of processes.
  void read_pss();
  std::optional<int64_t> pss_bytes() const { return pss_.sum(os_.living_spaces()); }
  std::string pss_note() const { return pss_.note(); }

 private:
  void place(SpaceId space, uint64_t cgroup);
  bool is_wanted(pid_t pid) const;

  Target target_;
  std::optional<uid_t> owner_;
  PidNamespace pids_;
  std::optional<Sideband> sideband_;
  Spaces spaces_;
  std::optional<Cgroups> cgroups_;
  OsLedger os_;
  PssReadings pss_;
  Deaths deaths_;
  Pace reading_{200'000'000, 1000};
};

}  // namespace memflame
