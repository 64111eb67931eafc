// SPDX-License-Identifier: BSD-2-Clause
// run_probes() turns options into a recording. The order of its steps is the contract: nothing
// counts before everything is attached, and a command that memflame starts runs only after that.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/recording.h"
#include "probes/loading/kernel_features.h"
#include "probes/probe.h"
#include "probes/run/memory_plan.h"
#include "probes/run/overhead.h"
#include "probes/run/unwinder.h"
#include "probes/system/procfs.h"

namespace memflame {

// A probe and what the user asked of it.
struct ProbeRun {
  const Probe* probe = nullptr;
  ProbeOptions options;
};

// Facts on one of several probes of a run.
struct ProbeInfo {
  std::string name;
  uint64_t events = 0;
  Losses losses;  // without those of the run as a whole, and without cut stacks
};

// Facts for --summary that are not in the recording.
struct RunInfo {
  double seconds = 0;         // counting
  double attach_seconds = 0;  // from the start of memflame's work until counting may begin
  double paused_seconds = 0;  // from then on, until it began
  bpf::counters counters{};
  std::vector<pid_t> pids;            // all processes that were watched
  size_t without_end = 0;             // watched processes without OS figures at their end
  std::optional<OsMemory> os_growth;  // none: it is not known
  KernelFeatures features;
  Stacks mode = Stacks::dwarf;
  StackStatistics stacks;
  unwind::TableStatistics tables;
  std::string cache_problem;  // why unwind tables are not cached on disk; empty if they are
  uint64_t map_bytes = 0;     // kernel memory of memflame's tables
  uint64_t own_bytes = 0;     // maximum of memflame's own memory while it counted
  MemoryPlan memory;
  std::optional<Overhead> overhead;  // with --max-overhead
  bool stopped = false;              // by any signal
  bool interrupted = false;          // by SIGTERM
  std::vector<ProbeInfo> probes;     // if there are several
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
  // With ProbeOptions::start_paused, about every 10 ms until it is true: counting is to begin.
  virtual bool resumes(LiveRun&) { return true; }
  // A function was called: for each call, in order, if ProbeOptions::calls is set. Some calls are
  // read from the ring only after end().
  virtual void called(const bpf::call_record&, const std::string& /*function*/) {}
  // With ProbeOptions::until_exec: a watched process executes a program, which its record names.
  virtual void left(const bpf::space_record&) {}
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

// At least one probe. The options that all probes have are those of the first one: target, sizes of
// tables, time. If several probes run, blocks can be followed by the first one only.
//
// `command` is the program of options.target.command, started but still waiting, or null. It is let
// go when counting begins, and may still run when this returns. For signals see run_signals.h.
// Throws Error.
Run run_probes(std::span<const ProbeRun> probes, Command* command, Observer& observer);

}  // namespace memflame
