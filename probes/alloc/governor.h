// --max-overhead: how much memflame costs the target, and the sampling rate that keeps it within a
// budget.
//
// What it costs is how long the programs run in the target (one run in sixteen is timed), and for
// each time the trap that leads there, whose price is measured at the start on functions of
// memflame's own. Not the kernel's own statistics (BPF_ENABLE_STATS): these count what other
// processes that use the same library cost, too, and slow down every program on the machine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace memflame {

class Session;

// Prices of one probe hit beside its program, in ns.
struct TrapPrices {
  double entry = 0;    // on an instruction that the kernel emulates
  double stepped = 0;  // on one that it has to single-step
  double returns = 0;  // the return
};

// All since the start of counting.
struct CostReading {
  double seconds = 0;       // passed
  double cpu_seconds = 0;   // used by the targets, with what memflame cost them
  double cost_seconds = 0;  // of these, memflame's
};

// The cost in percent of what the target would have used by itself.
double overhead_percent(double cost_seconds, double cpu_seconds);

// What the mean distance of samples should be, in bytes (0: no sampling), from what the cost was
// lately. Up at once when over the budget, down slowly when well under it.
uint64_t next_distance(uint64_t distance, double overhead, double budget);

struct RateChange {
  double seconds = 0;  // since the start
  uint64_t from = 0, to = 0;
  double overhead = 0;  // percent, in the time before
};

class Governor {
 public:
  // Measures the prices. Throws Error when the kernel does not let us measure.
  explicit Governor(double budget_percent);

  // Call often; looks at the cost twice a second.
  void poll(Session& session);

  double budget() const { return budget_; }
  const TrapPrices& prices() const { return prices_; }
  const std::vector<RateChange>& changes() const { return changes_; }
  double overhead() const { return overall_; }  // percent, of the whole run so far
  bool beyond_control() const { return beyond_control_; }
  std::string in_words() const;  // for the notes

 private:
  double budget_;
  TrapPrices prices_;
  CostReading first_, last_;
  double start_ = 0;
  std::vector<RateChange> changes_;
  uint64_t distance_ = 0;
  double overall_ = 0;
  bool beyond_control_ = false;
};

}  // namespace memflame
