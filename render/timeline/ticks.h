// SPDX-License-Identifier: BSD-2-Clause
// Round places on an axis, and what is written there.
#pragma once

#include <string>
#include <vector>

#include "core/profile.h"
#include "core/timeline.h"

namespace memflame {

struct Tick {
  double at = 0;  // in seconds, or in the unit of the values
  std::string label;
};

// At most `most` ticks: 0, 5 min, 10 min.
std::vector<Tick> time_ticks(TimeRange range, size_t most);

// The distance of ticks for figures of this size, at most `most` of them: 5 MiB, 200, 1 ms. Above
// 0.
double value_step(double size, const ValueType& type, size_t most);
// The multiples of the step from `low` to `high`.
std::vector<Tick> value_ticks(double low, double high, double step, const ValueType& type);

// "1.25 s", "83 s", "12 min 5 s", "5 h 12 min", "3 d 4 h"
std::string time_text(double seconds);

}  // namespace memflame
