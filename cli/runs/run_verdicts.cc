// SPDX-License-Identifier: BSD-2-Clause
#include "cli/runs/run_verdicts.h"

#include "core/error.h"

namespace memflame {

bool wants_verdicts(const Probe& probe, const Request& request) {
  if (!request.render.verdicts.value_or(false)) return false;
  if (!probe.has_blocks)
    throw Error("--verdicts on: " + std::string(probe.name) +
                    " follows no blocks, so it cannot tell what leaks; alloc and kernel do",
                ExitCode::usage);
  if ((request.format->holds & verdicts) == 0)
    throw Error("--verdicts on: " + std::string(request.format->name) +
                    " shows no verdicts; svg, html and json do",
                ExitCode::usage);
  return true;
}

void RunVerdicts::end(LiveRun& run, double seconds) {
  if (seconds >= least_seconds) ledger_.end(run);
}

std::optional<JudgedRun> RunVerdicts::so_far() const {
  if (!ledger_.ledger() || ledger_.seconds() < least_seconds) return std::nullopt;
  const History& tables = ledger_.tables();
  return JudgedRun{*ledger_.ledger(), tables.tracks, tables.recording.stacks};
}

}  // namespace memflame
