// SPDX-License-Identifier: BSD-2-Clause
// run_probe(): from options to a recording. The order of steps is the contract: nothing counts
// before everything is attached, and a started command runs only then.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/recording.h"
#include "probes/loading/kernel_features.h"
#include "probes/probe.h"
#include "probes/processes/procfs.h"
#include "probes/run/memory_plan.h"
#include "probes/run/overhead.h"
#include "probes/run/unwinder.h"

namespace memflame {

// Facts for --summary that are not in the recording.
struct RunInfo {
  double seconds = 0;         // counting
  double attach_seconds = 0;  // from the start of memflame's work until counting begins
  bpf::counters counters{};
  std::vector<pid_t> pids;  // all processes that were watched
  size_t without_end = 0;   // of these, without OS figures at their end
  OsMemory os_growth;
  KernelFeatures features;
  Stacks mode = Stacks::dwarf;
  StackStatistics stacks;
  unwind::TableStatistics tables;
  std::string cache_problem;  // why unwind tables are not cached on disk; empty if they are
  uint64_t map_bytes = 0;     // kernel memory of memflame's tables
  uint64_t own_bytes = 0;     // memflame's own memory, maximum while it counted
  MemoryPlan memory;
  std::optional<Overhead> overhead;  // where a run is kept within a budget
  bool interrupted = false;          // by SIGTERM
};

class Command;
class LiveRun;

// Observes a run while it goes on.
class Observer {
 public:
  Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  virtual ~Observer() = default;

  virtual void begin(LiveRun&) {}  // everything is attached, and counting is about to begin
  // Called about every 10 ms. False: enough was seen.
  virtual bool look(LiveRun&, double seconds) = 0;
  // SIGUSR1: the result so far is requested.
  virtual void asked(LiveRun&, double seconds) = 0;
  virtual void end(LiveRun&, double seconds) = 0;  // counting has ended, for any reason
};

struct Run {
  Recording recording;
  RunInfo info;
};

// `command` is the started, still waiting program if options.target.command is set, else null. It
// is running when this returns. Signals: run_signals.h. Throws Error.
Run run_probe(const Probe& probe, const ProbeOptions& options, Command* command,
              Observer& observer);

}  // namespace memflame
