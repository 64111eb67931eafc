// SPDX-License-Identifier: BSD-2-Clause
// Looks at a run at intervals, and keeps memflame's own cost low: when looking takes long, because
// there are many stacks or many blocks, it looks less often.
#pragma once

#include <optional>
#include <string>

#include "core/history.h"
#include "probes/run/live_run.h"

namespace memflame {

class TimeAxis {
 public:
  // Looks every `interval` seconds at least. `surveys`: the probe follows blocks, and knows when
  // each was allocated.
  TimeAxis(double interval, bool surveys) : interval_(interval), surveys_(surveys) {}

  // A look if one is due, a survey if that is due, too.
  std::optional<Look> look(LiveRun& run, double seconds);
  // The look at the end of the run.
  Look last(LiveRun& run);

  // The tables that the looks refer to; it has no looks itself.
  const History& tables() const { return tables_; }
  History& tables() { return tables_; }
  // If the interval had to grow: how far, and why; else "".
  std::string in_words() const;

 private:
  Look take(LiveRun& run, bool survey);

  double interval_;
  bool surveys_;
  double next_look_ = 0, next_survey_ = 0;  // seconds since counting began
  double look_cost_ = 0, survey_cost_ = 0;  // seconds of processor time, of the last of each kind
  double longest_look_ = 0, longest_survey_ = 0;  // intervals in seconds
  History tables_;
};

}  // namespace memflame
