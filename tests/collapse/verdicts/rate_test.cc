// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/verdicts/rate.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "tests/collapse/verdicts/simulation.h"

using namespace memflame;

namespace {

double normal(Simulation& random) {
  constexpr double turn = 6.283185307179586;
  const double radius = std::sqrt(random.exponential(2));
  return radius * std::cos(turn * random.uniform());
}

// The part of series of drift and a random walk whose interval covers the drift.
double coverage(size_t steps, double drift, double memory) {
  constexpr size_t series = 1000;
  Simulation random(steps * 31 + static_cast<size_t>(drift));
  size_t covered = 0;
  for (size_t i = 0; i < series; ++i) {
    std::vector<Increment> increments;
    double shock = normal(random);
    for (size_t k = 0; k < steps; ++k) {
      shock = memory * shock + normal(random) * std::sqrt(1 - memory * memory);
      increments.push_back({2 * drift + 1000 * shock, 2});
    }
    const Interval rate = rate_of(increments);
    if (rate.low <= drift && drift <= rate.high) ++covered;
  }
  return static_cast<double>(covered) / series;
}

}  // namespace

TEST_CASE("intervals of drift plus a random walk cover the drift in 95 % of the series") {
  for (const size_t steps : {size_t{30}, size_t{120}})
    for (const double drift : {0.0, 100.0, 1000.0}) {
      const double share = coverage(steps, drift, 0);
      CAPTURE(steps);
      CAPTURE(drift);
      MESSAGE("coverage ", share);
      CHECK(share >= 0.93);
      CHECK(share <= 0.97);
    }
}

TEST_CASE("increments that depend on each other are covered nearly as often") {
  const double share = coverage(120, 100, 0.3);
  MESSAGE("coverage ", share);
  CHECK(share >= 0.90);
}

TEST_CASE("a rate is amount per second, and few steps say nothing about its error") {
  const std::vector<Increment> steps{{10, 1}, {30, 3}, {20, 2}, {40, 4}};
  const Interval rate = rate_of(steps);
  CHECK(rate.value == doctest::Approx(10));
  CHECK(rate.high - rate.low == doctest::Approx(0));
  CHECK(std::isinf(rate_of(std::vector<Increment>{{1, 1}, {2, 1}}).high));
  CHECK(std::isinf(rate_of({}).high));
  CHECK(std::isinf(rate_of(std::vector<Increment>(5)).high));
}

TEST_CASE("few samples for many blocks widen an interval") {
  const Interval rate{100, 95, 105};
  const Interval wide = widened(rate, 6400, 100);
  CHECK(wide.value == 100);
  CHECK(wide.low == doctest::Approx(100 - std::hypot(5, 19.6)).epsilon(1e-3));
  CHECK(wide.high == doctest::Approx(100 + std::hypot(5, 19.6)).epsilon(1e-3));
  CHECK(widened(rate, 100, 100).low == 95);
}
