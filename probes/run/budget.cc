// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/budget.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <utility>

#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

// At this rate, sampled allocations cost almost nothing compared with the probes.
constexpr double next_to_nothing = 1.0 / 200;
// The run ends after this many looks in a row, at least half a second apart, that find an
// unavoidable cost above the budget.
constexpr int most_looks_beyond = 3;
// A run may go on for weeks.
constexpr size_t most_changes = 1000;

std::string distance_in_words(uint64_t distance) {
  return distance == 0 ? "all" : "1 sample per " + iec_bytes(static_cast<int64_t>(distance));
}

std::string in_percent(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g %%", value);
  return text.data();
}

}  // namespace

double overhead_percent(double cost_seconds, double cpu_seconds) {
  const double own = cpu_seconds - cost_seconds;
  // The target's CPU time includes the cost. It is counted in clock ticks, so the difference may be
  // zero or less.
  return cost_seconds <= 0 ? 0 : 100 * cost_seconds / std::max(own, cpu_seconds / 100);
}

bool is_beyond_control(const Situation& now, double budget) {
  if (now.probes > budget) return true;
  return now.overhead > budget && now.distance != 0 &&
         (now.distance == largest_distance || now.kept < next_to_nothing);
}

Room room_for(uint64_t live, uint64_t before, uint64_t many) {
  if (live > many && live > before + before / 16) return Room::none;
  return live > many / 2 ? Room::enough : Room::plenty;
}

uint64_t next_distance(const Situation& now, double budget, const Rates& rates) {
  if (is_beyond_control(now, budget)) return now.distance;
  if (now.overhead > budget) {
    if (now.distance == 0) return first_distance;
    const double times = std::clamp(now.overhead / budget * 1.5, 1.5, 64.0);
    const double next = static_cast<double>(now.distance) * times;
    return next >= static_cast<double>(largest_distance)
               ? largest_distance
               : std::bit_ceil(static_cast<uint64_t>(next));
  }
  if (now.room == Room::none)
    return now.distance == 0 ? first_distance : std::min(now.distance * 2, largest_distance);
  // Half the distance costs at most twice as much, which is still within the budget.
  if (now.overhead < budget * 0.4 && now.distance != 0 && now.room == Room::plenty) {
    if (now.distance / 2 >= least_distance) return now.distance / 2;
    if (rates.start == 0) return 0;
  }
  return now.distance;
}

Budget::Budget(double percent, std::function<TrapPrices()> measure) : measure_(std::move(measure)) {
  overhead_.budget = percent;
  overhead_.prices = measure_();
}

Budget::Budget(double percent, const Rates& rates) : rates_(rates), distance_(rates.start) {
  overhead_.budget = percent;
  overhead_.distance = rates.start;
}

// A price may have been measured while the machine was slow, so prices are measured again before
// they end a run.
bool Budget::prices_were_wrong() {
  if (!measure_) return false;
  const double before = overhead_.prices.entry;
  try {
    overhead_.prices = measure_();
  } catch (const Error&) {
    return false;  // the run already has results, so keep the old prices
  }
  if (overhead_.prices.entry >= 0.9 * before) return false;
  looks_beyond_ = 0;
  overhead_.beyond_control = false;
  return true;
}

void Budget::judge(const Situation& now, double seconds) {
  overhead_.recent_percent = now.overhead;
  overhead_.probes_percent = now.probes;
  overhead_.beyond_control = is_beyond_control(now, overhead_.budget);
  looks_beyond_ = overhead_.beyond_control ? looks_beyond_ + 1 : 0;
  if (looks_beyond_ == most_looks_beyond && !prices_were_wrong() && !overhead_.ended_after)
    overhead_.ended_after = seconds;
  change(next_distance(now, overhead_.budget * share_, rates_), now.overhead, seconds);
}

void Budget::judge(Room room, double seconds) {
  if (room != Room::none) return;
  const Situation now{.distance = distance_, .room = room};
  change(next_distance(now, overhead_.budget, rates_), overhead_.recent_percent.value_or(0),
         seconds);
}

void Budget::change(uint64_t next, double overhead, double seconds) {
  if (next == distance_) return;
  if (overhead_.changes.size() < most_changes)
    overhead_.changes.push_back(
        {.seconds = seconds, .from = distance_, .to = next, .overhead = overhead});
  else
    ++overhead_.later_changes;
  overhead_.distance = distance_ = next;
}

std::string Budget::kept_in_words() const {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "as %g %% of overhead allow", overhead_.budget);
  return text.data();
}

std::string Budget::in_words() const {
  std::string text = "overhead ";
  text += overhead_.percent ? in_percent(*overhead_.percent) : "unknown (too short a run)";
  text += " of a budget of " + in_percent(overhead_.budget);
  if (overhead_.beyond_control && overhead_.recent_percent)
    text += "; " + std::string(rates_.unavoidable) + " more than that (" +
            in_percent(*overhead_.recent_percent) + " at the end), and no sampling rate changes it";
  if (overhead_.ended_after) {
    std::array<char, 96> ended{};
    std::snprintf(ended.data(), ended.size(), ": measuring ended after %.1f s",
                  *overhead_.ended_after);
    text += std::string(ended.data()) + "; try 'memflame fault', or a larger budget";
  }
  // The JSON summary lists all changes.
  constexpr size_t most = 12;
  const std::string first = rates_.start == 0
                                ? "; kept were all at first, "
                                : "; " + distance_in_words(rates_.start) + " at first, ";
  for (size_t i = 0; i < std::min(most, overhead_.changes.size()); ++i) {
    const RateChange& change = overhead_.changes[i];
    std::array<char, 32> at{};
    std::snprintf(at.data(), at.size(), "%.1f s", change.seconds);
    text += (i == 0 ? first : ", ") + distance_in_words(change.to) + " from " + at.data() +
            " on (" + in_percent(change.overhead) + " before)";
  }
  if (overhead_.changes.size() > most)
    text += ", and " + std::to_string(overhead_.changes.size() - most + overhead_.later_changes) +
            " more changes";
  return text;
}

}  // namespace memflame
