// SPDX-License-Identifier: BSD-2-Clause
// Verdicts on a run whose result is a picture: looks at it from time to time, as memflame leaks
// does.
#pragma once

#include <optional>

#include "cli/probe_request.h"
#include "cli/time_axis.h"
#include "collapse/verdicts/marks.h"

namespace memflame {

// Whether the output shows verdicts and the probe follows blocks. Blocks must keep the time of
// their allocation then (ProbeOptions::ages).
bool wants_verdicts(const Probe& probe, const Request& request);

class RunVerdicts {
 public:
  explicit RunVerdicts(const Request& request) : is_on_(request.marks_verdicts) {}

  // Takes a look at the run if one is due.
  void look(LiveRun& run, double seconds);
  // The last look; what ended processes left is known after it.
  void end(LiveRun& run, double seconds);

  // None if there is nothing to say yet. A copy: the run may go on.
  std::optional<JudgedRun> so_far() const;

 private:
  void add(const Look& look);

  static constexpr double look_seconds = 1;
  // Shorter runs have no verdicts to be shown (marks_of()), so they pay for no last look.
  static constexpr double least_seconds = 3;

  bool is_on_;
  TimeAxis axis_{look_seconds, true};
  std::optional<Ledger> ledger_;  // made with the first look, which tells the columns
  double seconds_ = 0;            // of the latest look
};

}  // namespace memflame
