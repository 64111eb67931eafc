// SPDX-License-Identifier: BSD-2-Clause
// --max-overhead: measures memflame's cost to the target, and sets the sampling rate that keeps the
// cost within a budget.
//
// The cost is the time that the programs run in the target, plus the price of the trap that leads
// to each run. One run in sixteen is timed; trap_prices.h measures the price. The kernel's own
// statistics (BPF_ENABLE_STATS) are not used: they include other processes that use the same
// library, and slow down every BPF program on the machine.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "probes/alloc/attaching/trap_prices.h"
#include "probes/run/budget.h"
#include "probes/run/cost_sums.h"

namespace memflame {

class OsLedger;
struct LoadedProbe;

class Governor {
 public:
  // Measures the prices. `most_live`: blocks for which the live table has room. `with_children`:
  // add the CPU time of children that have ended to that of their parents. Throws Error if the
  // kernel does not allow measuring.
  Governor(double budget_percent, const UprobeMeans& means, uint64_t most_live, bool with_children);

  // Call often; looks at the cost twice a second. `live`: how many blocks are in the live table.
  void poll(LoadedProbe& probe, const OsLedger& os, const std::function<uint64_t()>& live);
  // Takes the last reading.
  void finish(const LoadedProbe& probe, const OsLedger& os);

  const Budget& budget() const { return budget_; }
  void set_share(double share) { budget_.set_share(share); }

 private:
  CostReading read(const LoadedProbe& probe, const std::vector<pid_t>& pids) const;
  std::optional<CostReading> add(const CostReading& now);
  void judge(const CostReading& between, Room room, double since_start, const LoadedProbe& probe,
             const OsLedger& os);

  Budget budget_;
  uint64_t many_live_;
  uint64_t live_ = 0;  // when the distance changed last
  bool with_children_;
  double looked_ = 0;             // when poll() last read anything
  std::optional<CostSums> sums_;  // since the first look
};

}  // namespace memflame
