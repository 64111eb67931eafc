// SPDX-License-Identifier: BSD-2-Clause
// How the outputs fare, and the spool, for metrics and for people.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "fleet/rule_board.h"
#include "fleet/spool_counts.h"

namespace memflame {

struct OutputState {
  uint64_t failed_tries = 0;  // since memflame began
  std::string last_error;     // "" = the last try was good
  double oldest_seconds = 0;  // age of the oldest window that waits; 0 = none does
  int64_t last_sent_ns = 0;   // CLOCK_REALTIME; 0 = nothing was sent yet
};

struct FleetFigures {
  SpoolCounts spool;
  uint64_t spool_most_bytes = 0;
  std::map<std::string, OutputState> outputs;  // those of the configuration
  std::map<std::string, RuleState> rules;
  double budget_share = 1;  // that rules may use of their budgets
};

}  // namespace memflame
