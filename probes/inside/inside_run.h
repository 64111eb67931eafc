// SPDX-License-Identifier: BSD-2-Clause
// run_inside() is run_probes() for a command or a process whose allocations are recorded by an
// agent in its own processes, not by the kernel. For a process it needs the right to trace it, for
// a command no rights.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "probes/run/run.h"

namespace memflame {

namespace inside {
class Exchange;
}

// What the command must know, so it is made before the command is started.
class InsideSetup {
 public:
  // Writes the agent's file if it is missing, for a command. Throws Error.
  explicit InsideSetup(const ProbeRun& run);
  // With another agent; "" = the program brings its own.
  InsideSetup(const ProbeRun& run, std::string agent);
  ~InsideSetup();
  InsideSetup(const InsideSetup&) = delete;
  InsideSetup& operator=(const InsideSetup&) = delete;

  // Variables for the command: LD_PRELOAD and where the agent finds memflame.
  std::vector<std::string> variables() const;

 private:
  friend Run run_inside(InsideSetup& setup, Command* command, Observer& observer);

  MemoryPlan memory_;
  ProbeRun run_;  // within the plan
  std::string agent_;
  std::unique_ptr<inside::Exchange> exchange_;
};

// The option that a run inside cannot fulfil; "" if there is none.
std::string refused_inside(const ProbeOptions& options);

// Whether the kernel's probes can count, in the same run, the processes that no agent sees, if
// memflame has the rights.
bool may_take_over(const ProbeOptions& options);

// Why no agent can speak in what a command of this name runs; "" if none is known, or if there is
// no such program.
std::string no_agent_in(const std::string& command);

// The command is started but still waiting, as for run_probes(), with the setup's variables; null =
// the process that the target names. Throws Error. A command in which no
// agent ever spoke is a note.
Run run_inside(InsideSetup& setup, Command* command, Observer& observer);

}  // namespace memflame
