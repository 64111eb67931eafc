// SPDX-License-Identifier: BSD-2-Clause
// --max-overhead: how much memflame costs the target, and the sampling rate that keeps it within a
// budget.
//
// What it costs is how long the programs run in the target (one run in sixteen is timed), and for
// each time the trap that leads there, whose price is measured (trap_prices.h). Not the kernel's
// own statistics (BPF_ENABLE_STATS): these count what other processes that use the same library
// cost, too, and slow down every program on the machine.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/alloc/trap_prices.h"

namespace memflame {

class Session;

// Mean distances of samples, in bytes.
inline constexpr uint64_t first_distance = 4096;  // when all blocks are too much
inline constexpr uint64_t least_distance = 64;    // below, all blocks cost little more
inline constexpr uint64_t largest_distance = 1ULL << 30;

// The last half second.
struct Situation {
  uint64_t distance = 0;  // 0: all blocks are kept
  double overhead = 0;    // percent
  double probes = 0;      // percent, the traps at entries alone: no sampling rate avoids these
  double kept = 1;        // of the allocations, so many were kept
};

// The cost in percent of what the target would have used by itself.
double overhead_percent(double cost_seconds, double cpu_seconds);

// The probes alone cost more than the budget: no sampling rate changes that.
bool is_beyond_control(const Situation& now, double budget);

// The distance to go on with. Larger at once when over the budget, smaller step by step when well
// under it.
uint64_t next_distance(const Situation& now, double budget);

// User and system time in a line of /proc/PID/stat, in clock ticks; with that of children that have
// been waited for, if these are watched, too.
uint64_t cpu_ticks(std::string_view stat, bool with_children);

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
  std::optional<double> probes_percent;  // of it, the traps at entries alone
  TrapPrices prices;
  std::vector<RateChange> changes;
  bool beyond_control = false;
  std::optional<double> ended_after;  // seconds: beyond control for a while, so measuring ended
};

class Governor {
 public:
  // Measures the prices. Throws Error when the kernel does not let us measure.
  Governor(double budget_percent, const UprobeMeans& means);

  // Call often; looks at the cost twice a second.
  void poll(Session& session);
  // The last look.
  void finish(Session& session);

  // Over the budget for some looks in a row, with nothing left to change: the run has to end.
  bool gives_up() const { return overhead_.ended_after.has_value(); }

  const Overhead& overhead() const { return overhead_; }
  std::string in_words() const;  // for the notes

 private:
  // All since the start of counting.
  struct Reading {
    double seconds = 0;         // when it was
    double cpu_seconds = 0;     // used by the targets, with what memflame cost them
    double cost_seconds = 0;    // of these, memflame's
    double trap_seconds = 0;    // of these, for traps at entries
    double seen = 0, kept = 0;  // allocations
  };
  Reading read(Session& session, const std::vector<pid_t>& pids) const;
  bool take(const Reading& now);
  void restate(const Reading& now);
  bool prices_were_wrong();
  void judge(const Situation& situation, double seconds);

  PriceMeter meter_;
  Overhead overhead_;
  Reading last_;
  bool started_ = false;
  double start_ = 0;
  double cpu_seconds_ = 0, cost_seconds_ = 0;  // of all that could be compared
  uint64_t distance_ = 0;
  int looks_beyond_ = 0;  // in a row
};

}  // namespace memflame
