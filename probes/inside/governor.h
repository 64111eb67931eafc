// SPDX-License-Identifier: BSD-2-Clause
// --max-overhead inside: what the agents cost the watched processes, and the mean distance of
// samples that keeps the cost within a budget.
//
// The cost of a sampled allocation is measured by the agents, each time. The free of one, and what
// the hooks take for a block that is passed over, are too short to be measured in place: they have
// fixed prices. How many were passed over is what the samples stand for. What memflame takes to
// read them counts, too: on a busy machine it is taken from the processes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "probes/run/budget.h"
#include "probes/run/cost_sums.h"

namespace memflame {
class OsLedger;
}

namespace memflame::inside {

inline constexpr uint64_t first_governed_mean = 512 << 10;

// Sums since counting began, of all processes.
struct AgentWork {
  uint64_t sampled = 0;        // allocations
  uint64_t stand_for = 0;      // allocations, passed over or not
  uint64_t frees = 0;          // that were recorded
  double sampled_seconds = 0;  // in agents, for `sampled`
  double read_seconds = 0;     // in memflame, for all of these
  uint64_t live = 0;           // sampled blocks, now
};

class Governor {
 public:
  // `most_live`: how many blocks the table of live ones has room for; 0: no limit.
  // `with_children`: add the CPU time of children that have ended to that of their parents.
  Governor(double budget_percent, uint64_t most_live, bool with_children);

  // Call often; looks at the cost twice a second. Returns the mean from now on if it changes.
  std::optional<uint64_t> poll(const std::function<AgentWork()>& work, const OsLedger& os);
  // Takes the last reading.
  void finish(const AgentWork& work, const OsLedger& os);

  const Budget& budget() const { return budget_; }
  void set_share(double share) { budget_.set_share(share); }

 private:
  CostReading reading(const AgentWork& work, const std::vector<pid_t>& pids);
  std::optional<CostReading> add(const CostReading& now);

  Budget budget_;
  uint64_t many_live_;
  bool with_children_;
  double looked_ = 0;  // when poll() last read anything
  uint64_t live_ = 0;  // sampled blocks, when the mean changed last
  std::optional<CostSums> sums_;
};

}  // namespace memflame::inside
