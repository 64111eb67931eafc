// SPDX-License-Identifier: BSD-2-Clause
// Timeline: figures over the time of a run, as lines with names. It is what the outputs of
// `memflame timeline` draw or list; text exists only there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/losses.h"
#include "core/profile.h"

namespace memflame {

// In seconds since counting began.
struct TimeRange {
  double from = 0, to = 0;
  friend bool operator==(const TimeRange&, const TimeRange&) = default;
};

// A value holds until the next point. None: the figure could not be read then.
struct TimePoint {
  double seconds = 0;
  std::optional<int64_t> value;
  friend bool operator==(const TimePoint&, const TimePoint&) = default;
};

// What a line is: a figure of the operating system, the sum of one of the probe's columns, the
// shown figure of one stack, or that of all stacks without a line of their own.
enum class LineKind : uint8_t { gauge, total, stack, rest };

struct TimeLine {
  LineKind kind = LineKind::stack;
  std::string name;
  ValueType type;
  std::vector<std::string> frames;  // of a stack, from the root on
  size_t stacks = 0;                // how many it stands for; 0 for gauges
  bool leads_probe = false;         // a total: the first figure of one of several probes
  std::vector<TimePoint> points;
  // Covers all values, of which there may be more than points.
  struct Extremes {
    int64_t least = 0, most = 0, last = 0;
    double most_at = 0;  // seconds
    friend bool operator==(const Extremes&, const Extremes&) = default;
  };
  std::optional<Extremes> extremes;        // within Timeline::shown_range
  std::optional<Extremes> whole_extremes;  // of the whole run
};

struct TimeMark {
  double seconds = 0;
  std::string name;
  friend bool operator==(const TimeMark&, const TimeMark&) = default;
};

struct Timeline {
  Meta meta;
  Losses losses;
  ValueType shown;        // the figure of the stacks
  TimeRange whole;        // the run
  TimeRange shown_range;  // the part of it that the stacks' lines cover
  bool is_complete = true;
  std::vector<TimeLine> gauges, totals;  // over the whole run
  // Those of stacks come first, the one with the largest value at the top.
  std::vector<TimeLine> bands;
  std::vector<TimeMark> marks;
  // Parts of the run to be pointed out where the whole run is drawn.
  std::vector<TimeRange> shaded;
  size_t stacks = 0;  // with a value other than 0 at any time of shown_range
};

}  // namespace memflame
