// SPDX-License-Identifier: BSD-2-Clause
// What tracing costs the targets, from readings one after the other. Processor time comes in clock
// ticks, and that of a process that has ended is missing until its parent waits for it, so not
// every reading can be compared with the one before.
#pragma once

#include <optional>

namespace memflame {

// Looks at the cost are this far apart.
inline constexpr double cost_interval_seconds = 0.5;
// The least processor time that clock ticks can measure.
inline constexpr double least_cpu_seconds = 0.05;

// Sums since the start of counting.
struct CostReading {
  double seconds = 0;         // when it was taken, CLOCK_MONOTONIC
  double cpu_seconds = 0;     // used by the targets, memflame's cost included
  double cost_seconds = 0;    // memflame's part of cpu_seconds
  double trap_seconds = 0;    // the part of cost_seconds for traps at entries
  double read_seconds = 0;    // memflame's own, to read what the targets recorded
  double seen = 0, kept = 0;  // allocations
};

class CostSums {
 public:
  explicit CostSums(const CostReading& first) : first_(first), last_(first) {}

  // What came between the last reading and `now`, which is the last one from here on. None if that
  // is too little to judge: the time counts with the next reading.
  std::optional<CostReading> add(const CostReading& now);
  // Replaces the last reading, which was made with other prices.
  void restate(const CostReading& now);

  // Sums of the times that could be compared.
  double cpu_seconds() const { return cpu_seconds_; }
  double cost_seconds() const { return cost_seconds_; }
  double read_seconds() const { return read_seconds_; }
  double start() const { return first_.seconds; }

 private:
  CostReading first_, last_;
  double cpu_seconds_ = 0, cost_seconds_ = 0, read_seconds_ = 0;
};

}  // namespace memflame
