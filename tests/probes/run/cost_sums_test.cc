// SPDX-License-Identifier: BSD-2-Clause
// Which readings of the cost can be compared, and what they add up to.
#include "probes/run/cost_sums.h"

#include <doctest/doctest.h>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

CostReading reading(double seconds, double cpu, double cost) {
  return {.seconds = seconds,
          .cpu_seconds = cpu,
          .cost_seconds = cost,
          .trap_seconds = cost / 2,
          .read_seconds = cost / 4,
          .seen = 1000 * seconds,
          .kept = 10 * seconds};
}

}  // namespace

TEST_CASE("what came between two readings counts once") {
  CostSums sums(reading(100, 7, 3));
  const auto first = sums.add(reading(100.5, 7.4, 3.1));
  REQUIRE(first);
  CHECK(first->seconds == doctest::Approx(0.5));
  CHECK(first->cpu_seconds == doctest::Approx(0.4));
  CHECK(first->cost_seconds == doctest::Approx(0.1));
  CHECK(first->trap_seconds == doctest::Approx(0.05));
  CHECK(first->read_seconds == doctest::Approx(0.025));
  CHECK(first->seen == doctest::Approx(500));
  CHECK(first->kept == doctest::Approx(5));
  const auto second = sums.add(reading(101, 7.5, 3.15));
  REQUIRE(second);
  CHECK(second->cpu_seconds == doctest::Approx(0.1));
  CHECK(sums.cpu_seconds() == doctest::Approx(0.5));
  CHECK(sums.cost_seconds() == doctest::Approx(0.15));
  CHECK(sums.read_seconds() == doctest::Approx(0.0375));
  CHECK(sums.start() == 100);
}

TEST_CASE("fewer ticks than can be measured wait for the next reading, and are not lost") {
  CostSums sums(reading(0, 0, 0));
  CHECK_FALSE(sums.add(reading(0.5, 0.03, 0.01)));
  CHECK(sums.cpu_seconds() == 0);
  const auto later = sums.add(reading(1, 0.06, 0.02));
  REQUIRE(later);
  CHECK(later->seconds == doctest::Approx(1));
  CHECK(later->cpu_seconds == doctest::Approx(0.06));
  CHECK(sums.cost_seconds() == doctest::Approx(0.02));
}

TEST_CASE("time that is missing for a moment comes back with the parent's") {
  CostSums sums(reading(0, 5, 1));
  CHECK_FALSE(sums.add(reading(0.5, 2, 1.1)));  // a child has ended
  const auto later = sums.add(reading(1, 5.5, 1.2));
  REQUIRE(later);
  CHECK(later->cpu_seconds == doctest::Approx(0.5));
  CHECK(later->cost_seconds == doctest::Approx(0.2));
}

TEST_CASE("time that stays missing begins a new sum after four intervals") {
  CostSums sums(reading(0, 5, 1));
  const double later = 4 * cost_interval_seconds;
  CHECK_FALSE(sums.add(reading(later, 2, 1.1)));          // not yet
  CHECK_FALSE(sums.add(reading(later + 0.5, 2.2, 1.2)));  // from here on
  const auto next = sums.add(reading(later + 1, 2.7, 1.4));
  REQUIRE(next);
  CHECK(next->seconds == doctest::Approx(0.5));
  CHECK(next->cpu_seconds == doctest::Approx(0.5));
  CHECK(sums.cpu_seconds() == doctest::Approx(0.5));
  CHECK(sums.cost_seconds() == doctest::Approx(0.2));
}

TEST_CASE("new prices replace the last reading") {
  CostSums sums(reading(0, 0, 0));
  REQUIRE(sums.add(reading(0.5, 0.4, 0.1)));
  sums.restate(reading(0.5, 0.4, 0.3));
  CHECK(sums.cost_seconds() == doctest::Approx(0.3));
  const auto next = sums.add(reading(1, 0.8, 0.6));
  REQUIRE(next);
  CHECK(next->cost_seconds == doctest::Approx(0.3));
}
