// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/verdicts/rate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace memflame {
namespace {

constexpr double z = 1.959964;  // 97.5 % of a normal distribution lie below

// The same for Student's t, by the first terms of its expansion in 1 / freedom.
double student(double freedom) {
  const double z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  return z + (z3 + z) / (4 * freedom) + (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * freedom * freedom * freedom);
}

// The variance of the sum of all rests, when blocks of `block` neighbours are drawn at random.
double variance_of_sum(std::span<const double> rests, size_t block) {
  const size_t n = rests.size();
  double sum = 0, squares = 0;
  for (size_t i = 0; i < block; ++i) sum += rests[i];
  for (size_t i = 0; i < n; ++i) {
    squares += sum * sum;
    sum += rests[(i + block) % n] - rests[i];
  }
  // n / block blocks are drawn, each with the mean square squares / n.
  const double drawn = squares / static_cast<double>(block);
  return drawn * static_cast<double>(n) / static_cast<double>(n - block);
}

}  // namespace

Interval rate_of(std::span<const Increment> steps, size_t block) {
  double amount = 0, seconds = 0;
  for (const Increment& step : steps) {
    amount += step.amount;
    seconds += step.seconds;
  }
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (steps.empty() || seconds <= 0) return {0, -infinite, infinite};
  const double rate = amount / seconds;
  const size_t n = steps.size();
  if (n < 3) return {rate, -infinite, infinite};
  if (block == 0) block = static_cast<size_t>(std::lround(std::cbrt(static_cast<double>(n))));
  block = std::clamp(block, size_t{1}, n / 3);
  std::vector<double> rests;
  rests.reserve(n);
  for (const Increment& step : steps) rests.push_back(step.amount - rate * step.seconds);
  const double error = std::sqrt(variance_of_sum(rests, block)) / seconds;
  // Overlapping blocks know half as much again as n / block separate ones.
  const double blocks = static_cast<double>(n) / static_cast<double>(block);
  const double freedom = block == 1 ? blocks - 1 : std::max(1.5 * blocks - 1, 1.0);
  const double half = student(freedom) * error;
  return {rate, rate - half, rate + half};
}

Interval widened(const Interval& interval, double blocks, double samples) {
  if (samples <= 0 || samples >= blocks) return interval;
  const double more = z * std::fabs(interval.value) / std::sqrt(samples);
  return {interval.value, interval.value - std::hypot(interval.value - interval.low, more),
          interval.value + std::hypot(interval.high - interval.value, more)};
}

}  // namespace memflame
