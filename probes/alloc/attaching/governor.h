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

#include <cstdint>
#include <string>
#include <vector>

#include "probes/alloc/attaching/budget.h"
#include "probes/alloc/attaching/trap_prices.h"

namespace memflame {

class OsLedger;
struct LoadedProbe;

class Governor {
 public:
  // Measures the prices. `with_children`: add the CPU time of children that have ended to that of
  // their parents. Throws Error if the kernel does not allow measuring.
  Governor(double budget_percent, const UprobeMeans& means, bool with_children);

  // Call often; looks at the cost twice a second.
  void poll(LoadedProbe& probe, const OsLedger& os);
  // Takes the last reading.
  void finish(const LoadedProbe& probe, const OsLedger& os);

  const Budget& budget() const { return budget_; }

 private:
  // Sums since the start of counting.
  struct Reading {
    double seconds = 0;         // when it was taken, CLOCK_MONOTONIC
    double cpu_seconds = 0;     // used by the targets, memflame's cost included
    double cost_seconds = 0;    // memflame's part of cpu_seconds
    double trap_seconds = 0;    // the part of cost_seconds for traps at entries
    double seen = 0, kept = 0;  // allocations
  };
  Reading read(const LoadedProbe& probe, const std::vector<pid_t>& pids) const;
  bool add(const Reading& now);
  void restate(const Reading& now);

  Budget budget_;
  bool with_children_;
  Reading last_;
  double looked_ = 0;  // when poll() last read anything
  bool started_ = false;
  double start_ = 0;
  double cpu_seconds_ = 0, cost_seconds_ = 0;  // sums of the times that could be compared
};

}  // namespace memflame
