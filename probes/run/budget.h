// SPDX-License-Identifier: BSD-2-Clause
// --max-overhead: decides from memflame's cost in the last half second which sampling rate is next,
// or that the run must end. The idea: a rate that costs too much is left at once, and a finer one
// is tried only while the cost is under 40 % of the budget. Plain arithmetic; governor.h measures.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "probes/run/overhead.h"

namespace memflame {

// Mean distances of samples, in bytes: powers of two.
inline constexpr uint64_t first_distance = 4096;  // tried first if keeping all blocks is too much
inline constexpr uint64_t least_distance = 64;    // below, keeping all blocks costs little more
inline constexpr uint64_t largest_distance = 1ULL << 30;

// What a collector of blocks offers.
struct Rates {
  uint64_t start = 0;  // the distance to begin with; 0: keeps all blocks, and may return to that
  std::string_view unavoidable = "the probes alone cost";  // what no rate changes, for the notes
};

// For samples that are live. none: the distance must grow, whatever the cost is.
enum class Room : uint8_t { plenty, enough, none };
// `live` samples, of which there were `before` when the distance changed last, where `many` are
// half of what there is room for. Half the distance finds at most twice as many live blocks. If
// there are many already, but not more and more, the distance may stay.
Room room_for(uint64_t live, uint64_t before, uint64_t many);

// What happened in the last half second.
struct Situation {
  uint64_t distance = 0;  // 0: all blocks are kept
  double overhead = 0;    // percent
  double probes = 0;      // percent, of what no sampling rate avoids: the traps at entries
  double kept = 1;        // the share of allocations that were kept
  Room room = Room::plenty;
};

// The cost in percent of the CPU time that the target would have used without memflame.
double overhead_percent(double cost_seconds, double cpu_seconds);

// The cost is above the budget and no sampling rate helps: the traps alone cost too much, or hardly
// any block is kept already.
bool is_beyond_control(const Situation& now, double budget);

// The next distance: larger at once if the cost is over the budget, smaller step by step if it is
// well under the budget and there is plenty of room.
uint64_t next_distance(const Situation& now, double budget, const Rates& rates = {});

// Judges one look after another.
class Budget {
 public:
  // `measure` returns the prices. It throws Error if the kernel does not allow measuring, and so
  // does this constructor.
  Budget(double percent, std::function<TrapPrices()> measure);
  // For prices that need no measuring; begins with the distance of `rates`.
  Budget(double percent, const Rates& rates);

  // `seconds` since the start of counting.
  void judge(const Situation& now, double seconds);
  // The same where nothing is known of the cost, as the target has hardly run, but of the room.
  void judge(Room room, double seconds);
  // Rates are chosen for this part of the budget from now on, above 0 and up to 1.
  void set_share(double share) { share_ = share; }
  void set_whole(double percent) { overhead_.percent = percent; }  // the run's overhead so far

  uint64_t distance() const { return distance_; }  // to sample with from now on
  // Over the budget several times in a row, with nothing left to change: the run must end.
  bool is_over() const { return overhead_.ended_after.has_value(); }
  const Overhead& overhead() const { return overhead_; }
  void set_prices(const AgentPrices& prices) { overhead_.agent = prices; }
  std::string in_words() const;       // for the notes
  std::string kept_in_words() const;  // "as 3 % of overhead allow"

 private:
  bool prices_were_wrong();
  void change(uint64_t distance, double overhead, double seconds);

  std::function<TrapPrices()> measure_;  // may be empty
  Rates rates_;
  Overhead overhead_;
  uint64_t distance_ = 0;
  double share_ = 1;
  int looks_beyond_ = 0;  // in a row
};

}  // namespace memflame
