// SPDX-License-Identifier: BSD-2-Clause
// A rate with a 95 % interval, from what was added in each step of time. Live bytes are correlated
// in time, so a line fitted to them by least squares claims far too much. The idea: resample the
// increments instead, in blocks of neighbours (the circular block bootstrap of Politis and Romano,
// 1992). Infinitely many resamples have a variance that is known in closed form, so no random
// numbers are needed. The variance is corrected for the blocks' own mean, and the width by
// Student's t, so that intervals of 10 steps hold, too. Cost: O(steps).
#pragma once

#include <cstddef>
#include <span>

namespace memflame {

struct Interval {
  double value = 0, low = 0, high = 0;
};

struct Increment {
  double amount = 0, seconds = 0;
};

// Amount per second. `block` is how many neighbours may depend on each other; 0 chooses the cube
// root of the number of steps. With fewer than 3 steps, or none that takes time, the interval is
// as wide as numbers are.
Interval rate_of(std::span<const Increment> steps, size_t block = 0);

// Wider by what sampling adds: `samples` blocks stand for `blocks`. Counts of samples scatter by
// their square root.
Interval widened(const Interval& interval, double blocks, double samples);

}  // namespace memflame
