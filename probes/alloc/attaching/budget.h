// SPDX-License-Identifier: BSD-2-Clause
// --max-overhead: from memflame's cost in the last half second to the next sampling rate, or to the
// end of the run. Plain arithmetic; governor.h measures.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "probes/run/overhead.h"

namespace memflame {

// Mean distances of samples, in bytes.
inline constexpr uint64_t first_distance = 4096;  // if all blocks are too much
inline constexpr uint64_t least_distance = 64;    // below, keeping all blocks costs little more
inline constexpr uint64_t largest_distance = 1ULL << 30;

// The last half second.
struct Situation {
  uint64_t distance = 0;  // 0: all blocks are kept
  double overhead = 0;    // percent
  double probes = 0;      // percent, the traps at entries alone: no sampling rate avoids these
  double kept = 1;        // the share of allocations that were kept
};

// The cost in percent of what the target would have used alone.
double overhead_percent(double cost_seconds, double cpu_seconds);

// The probes alone cost more than the budget: no sampling rate changes that.
bool is_beyond_control(const Situation& now, double budget);

// The next distance: larger at once if over the budget, smaller step by step if well under it.
uint64_t next_distance(const Situation& now, double budget);

// One look after the other.
class Budget {
 public:
  // `measure` returns the prices, and throws Error if the kernel does not allow measuring; this
  // constructor then throws it too.
  Budget(double percent, std::function<TrapPrices()> measure);

  // `seconds` since the start of counting.
  void judge(const Situation& now, double seconds);
  void set_whole(double percent) { overhead_.percent = percent; }  // of the whole run so far

  uint64_t distance() const { return distance_; }  // to sample with from now on
  // Over the budget several times in a row, with nothing left to change: the run must end.
  bool is_over() const { return overhead_.ended_after.has_value(); }
  const Overhead& overhead() const { return overhead_; }
  std::string in_words() const;  // for the notes

 private:
  bool prices_were_wrong();

  std::function<TrapPrices()> measure_;
  Overhead overhead_;
  uint64_t distance_ = 0;
  int looks_beyond_ = 0;  // in a row
};

}  // namespace memflame
