// SPDX-License-Identifier: BSD-2-Clause
// The time in which a run counts: until its target ends, a signal comes, its time is over or an
// observer has seen enough. The same for all collectors.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/profile.h"
#include "core/unique_fd.h"
#include "probes/options/options.h"
#include "probes/run/live_run.h"
#include "probes/run/run.h"
#include "probes/run/run_signals.h"

namespace memflame {

// Descriptors that become readable when a process ends.
class Ends {
 public:
  void add(pid_t pid);
  // Whether all of them have ended; false if none was added.
  bool all();
  size_t living();  // how many have not
  // Says once that the command ended, and that these run on.
  void say_outlived(size_t processes);

 private:
  std::vector<UniqueFd> fds_;
  bool any_ = false, has_said_outlived_ = false;
};

// What the status line shows.
struct StatusFigures {
  uint64_t events = 0, amount = 0;
  uint64_t lost = 0;
  uint64_t table_bytes = 0;  // besides memflame's own memory
};

struct LoopParts {
  LiveRun& run;
  std::function<uint64_t()> arm;  // lets counting begin; returns when that was (CLOCK_MONOTONIC)
  std::function<void()> poll;     // takes what there is; about 10 ms
  std::function<bool()> wants_end = [] { return false; };
  // The processes that the command started, directly or not, and that live. A run with a command
  // goes on in them; without this it ends with the command.
  std::function<std::vector<pid_t>()> descendants = {};
  std::function<StatusFigures()> figures;
  Unit unit = Unit::bytes;  // of the amount
};

// `armed_ns`: when counting began (CLOCK_MONOTONIC). Sets `interrupted` and `own_bytes`.
void count_until_end(const LoopParts& parts, const ProbeOptions& options, Ends& ends,
                     const RunSignals& signals, uint64_t armed_ns, Observer& observer,
                     RunInfo& info);

// Lets counting begin, says that it has (--ready-fd), and lets the command run, if there is one:
// returns when that was (CLOCK_MONOTONIC). With ProbeOptions::start_paused the command runs first,
// and nothing counts until the observer resumes the run; throws Error if that ends before. The run
// began at `began_ns`. Sets `attach_seconds` and `paused_seconds`.
uint64_t begin_counting(const LoopParts& parts, const ProbeOptions& options, Command* command,
                        uint64_t began_ns, Ends& ends, const RunSignals& signals,
                        Observer& observer, RunInfo& info);
// What a recording says of that; "" if the run was not paused.
std::string pause_note(const RunInfo& info);

double seconds_since(uint64_t start_ns);

}  // namespace memflame
