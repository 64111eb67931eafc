// SPDX-License-Identifier: BSD-2-Clause
// Verdicts on a run whose result is a picture (--verdicts on).
#pragma once

#include <optional>

#include "cli/runs/request.h"
#include "cli/runs/run_ledger.h"
#include "collapse/verdicts/marks.h"

namespace memflame {

// Whether the user asked for verdicts. Throws Error(usage) if the probe follows no blocks or the
// output shows no verdicts.
bool wants_verdicts(const Probe& probe, const Request& request);

class RunVerdicts {
 public:
  explicit RunVerdicts(const Request& request) : ledger_(request.marks_verdicts) {}

  // Takes a look at the run if one is due.
  void look(LiveRun& run, double seconds) { ledger_.look(run, seconds); }
  void end(LiveRun& run, double seconds);

  // None if there is nothing to say yet. A copy: the run may go on.
  std::optional<JudgedRun> so_far() const;

 private:
  // Shorter runs have no verdicts to be shown (marks_of()), so they pay for no last look.
  static constexpr double least_seconds = 3;

  RunLedger ledger_;
};

}  // namespace memflame
