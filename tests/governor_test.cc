// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/governor.h"

#include <doctest/doctest.h>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("governor: the cost is in percent of what the target would have used by itself") {
  CHECK(overhead_percent(0, 1) == 0);
  CHECK(overhead_percent(0.5, 1) == doctest::Approx(100));
  CHECK(overhead_percent(0.1, 1.1) == doctest::Approx(10));
  // Clock ticks are coarse: a cost above the time itself is a large number, not a negative one.
  CHECK(overhead_percent(2, 1) == doctest::Approx(20000));
  CHECK(overhead_percent(-1, 1) == 0);
}

TEST_CASE("governor: over the budget the distance grows at once") {
  const auto next = [](uint64_t distance, double overhead) {
    return next_distance({.distance = distance, .overhead = overhead, .kept = 0.5}, 10);
  };
  CHECK(next(0, 11) == first_distance);
  CHECK(next(4096, 11) > 4096);
  CHECK(next(4096, 20) == 4096 * 3);
  CHECK(next(4096, 1e9) == 4096 * 64);
  CHECK(next(largest_distance, 50) == largest_distance);
  CHECK(next(largest_distance / 2, 50) == largest_distance);
}

TEST_CASE("governor: between well under and over the budget nothing changes") {
  for (const double overhead : {4.0, 7.0, 10.0})
    for (const uint64_t distance : {uint64_t{0}, uint64_t{4096}, largest_distance})
      CHECK(next_distance({.distance = distance, .overhead = overhead, .kept = 0.5}, 10) ==
            distance);
}

TEST_CASE("governor: well under the budget the distance shrinks, until all is counted") {
  uint64_t distance = largest_distance;
  int steps = 0;
  while (distance != 0 && steps < 100) {
    const uint64_t next = next_distance({.distance = distance, .overhead = 1, .kept = 0.5}, 10);
    CHECK(next <= distance / 2);
    distance = next;
    ++steps;
  }
  CHECK(distance == 0);
  CHECK(next_distance({.distance = 0, .overhead = 1, .kept = 1}, 10) == 0);
}

TEST_CASE("governor: where next to nothing is kept, sampling less does not help") {
  const Situation probes_alone{.distance = 1 << 20, .overhead = 300, .kept = 0.001};
  CHECK(is_beyond_control(probes_alone, 10));
  CHECK(next_distance(probes_alone, 10) == probes_alone.distance);
  const Situation samples{.distance = 1 << 20, .overhead = 300, .kept = 0.1};
  CHECK_FALSE(is_beyond_control(samples, 10));
  CHECK(next_distance(samples, 10) > samples.distance);
  CHECK_FALSE(is_beyond_control({.distance = 1 << 20, .overhead = 9, .kept = 0.001}, 10));
  // Without sampling all is kept, or left out by its size.
  CHECK_FALSE(is_beyond_control({.distance = 0, .overhead = 300, .kept = 0.001}, 10));
  CHECK(is_beyond_control({.distance = largest_distance, .overhead = 11, .kept = 1}, 10));
}

TEST_CASE("governor: where the traps alone cost too much, no rate is tried") {
  CHECK(is_beyond_control({.distance = 0, .overhead = 40, .probes = 30, .kept = 1}, 10));
  CHECK(next_distance({.distance = 0, .overhead = 40, .probes = 30, .kept = 1}, 10) == 0);
  CHECK_FALSE(is_beyond_control({.distance = 0, .overhead = 40, .probes = 9, .kept = 1}, 10));
}

TEST_CASE("governor: CPU time is that of a line of /proc/PID/stat") {
  const std::string line =
      "77 (a) b (c)) S 1 77 77 0 -1 4194304 1 2 3 4 150 50 30 20 20 0 1 0 5 6 7\n";
  CHECK(cpu_ticks(line, false) == 200);
  CHECK(cpu_ticks(line, true) == 250);
  CHECK(cpu_ticks("", true) == 0);
  CHECK(cpu_ticks("77 (a", true) == 0);
  CHECK(cpu_ticks("77 (a) S 1", true) == 0);
}
