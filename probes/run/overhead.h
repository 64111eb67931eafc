// SPDX-License-Identifier: BSD-2-Clause
// What a run has cost its target, and what was done to keep that within a budget (--max-overhead).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace memflame {

// What the kernel takes for one hit of a probe, in ns of CPU time.
struct TrapPrices {
  double entry = 0;    // on an instruction that the kernel emulates
  double stepped = 0;  // on one that it has to single-step
  double returns = 0;  // the return
};

// What the agent's hooks take, in ns of CPU time.
struct AgentPrices {
  double passed_over = 0;  // an allocation that is not sampled, and its free
  double sampled = 0;      // one that is; measured during the run
  double free = 0;         // the free of one that is
};

struct RateChange {
  double seconds = 0;  // since the start of counting
  uint64_t from = 0, to = 0;
  double overhead = 0;  // percent, in the half second before
};

// What --summary says.
struct Overhead {
  double budget = 0;                     // percent
  std::optional<double> percent;         // of the whole run; none when it was too short to tell
  std::optional<double> recent_percent;  // of the last half second that was judged
  std::optional<double> probes_percent;  // of it, what no sampling rate avoids
  TrapPrices prices;
  std::optional<AgentPrices> agent;  // inside, instead of `prices`
  uint64_t distance = 0;             // as it is now
  std::vector<RateChange> changes;   // the first ones, see Budget
  uint64_t later_changes = 0;        // that are not in `changes`
  bool beyond_control = false;
  std::optional<double> ended_after;  // seconds: beyond control for a while, so measuring ended
};

}  // namespace memflame
