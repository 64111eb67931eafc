// SPDX-License-Identifier: BSD-2-Clause
// How live bytes grow: constant, logarithmic (a cache that fills), linear (a leak) or exponential.
// The idea: a parabola is fitted to the bytes of equally spaced slices, scaled to 0..1 in both
// directions; its curvature gives the class, its rise the bytes. Cost: one pass. Source: edleak's
// leak factor, whose thresholds and roundings are kept, so results agree with its recorded ones.
#pragma once

#include <cstdint>
#include <span>

namespace memflame {

enum class GrowthClass : uint8_t { none, constant, logarithmic, linear, exponential };

struct LeakFactor {
  double a = 0, b = 0, c = 0;  // of a x² + b x + c
  int64_t leak = 0;            // the rise from x = 0 to x = 1, in bytes, truncated
  GrowthClass growth = GrowthClass::none;
  double range = 1;     // largest value - smallest value, at least 1
  double residual = 0;  // standard deviation from the parabola, as a part of `range`
};

// The class is none if there are fewer than 3 slices or one is negative.
LeakFactor leak_factor(std::span<const int64_t> slices);

// The class by the curvature and the rise alone.
GrowthClass class_of(double curvature, double leak);

// The same class, unless noise explains it. A rise must exceed four standard errors of the fit, and
// `min_range` bytes. A curvature must exceed the threshold by three standard errors; `samples` is
// the number of blocks that made the figures, and their births scatter the curve.
GrowthClass class_above_noise(const LeakFactor& factor, size_t slices, double samples,
                              double min_range);

}  // namespace memflame
