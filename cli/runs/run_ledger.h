// SPDX-License-Identifier: BSD-2-Clause
// A ledger of a run while it goes on: looks once a second, or less often where that would cost too
// much (time_axis.h).
#pragma once

#include <optional>

#include "cli/runs/time_axis.h"
#include "collapse/verdicts/ledger.h"

namespace memflame {

class RunLedger {
 public:
  // Does nothing unless `is_on`: blocks must keep the time of their allocation
  // (ProbeOptions::ages).
  explicit RunLedger(bool is_on) : is_on_(is_on) {}

  bool is_on() const { return is_on_; }
  // Takes a look at the run if one is due.
  void look(LiveRun& run, double seconds);
  // The last look; what ended processes left is known after it.
  void end(LiveRun& run);

  // What the looks so far refer to, and what they say; no ledger before the first look.
  History& tables() { return axis_.tables(); }
  const History& tables() const { return axis_.tables(); }
  const std::optional<Ledger>& ledger() const { return ledger_; }
  double seconds() const { return seconds_; }  // of the latest look, since counting began

 private:
  void add(LiveRun& run, const Look& look);

  static constexpr double look_seconds = 1;

  bool is_on_;
  TimeAxis axis_{look_seconds, true};
  std::optional<Ledger> ledger_;  // made with the first look, which tells the columns
  double seconds_ = 0;
};

}  // namespace memflame
