// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/verdicts/leak_factor.h"

#include <algorithm>
#include <cmath>

namespace memflame {
namespace {

constexpr double curved = 0.2;  // edleak's threshold

// Least squares by polynomials that are orthogonal on x = 0/n … (n-1)/n. They need no system of
// equations, and lose no digits.
void fit_parabola(LeakFactor& factor, std::span<const int64_t> slices, double smallest) {
  const double n = static_cast<double>(slices.size());
  const double middle = (n - 1) / (2 * n);
  const double spread = (n * n - 1) / (12 * n * n);  // mean of (x - middle)²
  double mean = 0, slope = 0, bend = 0, slopes = 0, bends = 0;
  const auto for_each = [&](auto&& visit) {
    for (size_t i = 0; i < slices.size(); ++i) {
      const double y = (static_cast<double>(slices[i]) - smallest) / factor.range;
      const double x = static_cast<double>(i) / n - middle;
      visit(x, x * x - spread, y);
    }
  };
  for_each([&](double x, double xx, double y) {
    mean += y / n;
    slope += x * y;
    bend += xx * y;
    slopes += x * x;
    bends += xx * xx;
  });
  slope /= slopes;
  bend /= bends;
  double squares = 0;
  for_each([&](double x, double xx, double y) {
    const double rest = y - mean - slope * x - bend * xx;
    squares += rest * rest;
  });
  factor.residual = std::sqrt(squares / std::max(1.0, n - 3));
  factor.a = bend;
  factor.b = slope - 2 * bend * middle;
  factor.c = mean - slope * middle + bend * (middle * middle - spread);
}

}  // namespace

GrowthClass class_of(double curvature, double leak) {
  if (leak <= 1) return GrowthClass::constant;
  if (curvature < -curved) return GrowthClass::logarithmic;
  return curvature > curved ? GrowthClass::exponential : GrowthClass::linear;
}

LeakFactor leak_factor(std::span<const int64_t> slices) {
  LeakFactor factor;
  if (slices.size() < 3) return factor;
  const auto [smallest, largest] = std::minmax_element(slices.begin(), slices.end());
  if (*smallest < 0) return factor;
  factor.range = std::max(1.0, static_cast<double>(*largest - *smallest));
  fit_parabola(factor, slices, static_cast<double>(*smallest));
  // The range of the rise is twice that of the values at most, so it fits.
  const double rise = std::clamp((factor.a + factor.b) * factor.range, -9e18, 9e18);
  factor.leak = static_cast<int64_t>(rise);
  factor.growth = class_of(factor.a, static_cast<double>(factor.leak));
  return factor;
}

GrowthClass class_above_noise(const LeakFactor& factor, size_t slices, double samples,
                              double min_range) {
  if (factor.growth == GrowthClass::none || factor.growth == GrowthClass::constant)
    return factor.growth;
  const double n = static_cast<double>(slices);
  // 12 / n and 180 / n: the variances of the slope and of the curvature for white noise of 1.
  const double rise_error = factor.residual * factor.range * std::sqrt(12 / n);
  const double rise = static_cast<double>(factor.leak);
  // Few slices do not tell the noise well either.
  const double unsure = 1 + 4 / std::max(n - 3, 1.0);
  if (factor.range < min_range || rise < 4 * unsure * rise_error) return GrowthClass::constant;
  // The second term is that of births at random times: their count is a Brownian bridge around its
  // line, whose curvature has a standard deviation of 2.07 / √samples.
  const double noise =
      factor.residual * factor.residual * 180 / n + 2.07 * 2.07 / std::max(samples, 1.0);
  if (std::fabs(factor.a) <= curved + 3 * unsure * std::sqrt(noise)) return GrowthClass::linear;
  return factor.growth;
}

}  // namespace memflame
