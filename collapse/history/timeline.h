// SPDX-License-Identifier: BSD-2-Clause
// History -> Timeline: the figures of the stacks with the largest ones, at even distances of time.
#pragma once

#include <optional>
#include <string>

#include "core/history.h"
#include "core/timeline.h"

namespace memflame {

// The figure of a stack that is drawn.
enum class TimelineShow : uint8_t {
  standard,     // live bytes; else the column that the recording shows
  live,         // bytes that are not freed yet
  live_count,   // the blocks with these bytes
  allocations,  // since counting began
  frees,        // the same
  rate,         // allocations per second
  column        // TimelineOptions::column
};

struct TimelineOptions {
  size_t top = 10;  // stacks with a line of their own
  TimelineShow show = TimelineShow::standard;
  std::string column{};                // its name
  std::optional<TimeRange> between{};  // none: the whole run
  size_t points = 450;                 // of a line, at most
};

// Needs symbolize() to have run on the recording. Tracks whose stacks have the same names are one
// line. Stacks are ranked by their largest value within the range.
//
// If there are more looks than points, points are at even distances, and each is the last value at
// or before its time. Otherwise each look is a point.
//
// Throws Error (usage) if the recording does not have the figure, or ended before `between`.
Timeline timeline_of(const History& history, const TimelineOptions& options);

}  // namespace memflame
