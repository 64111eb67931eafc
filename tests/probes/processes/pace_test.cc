// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/pace.h"

#include <doctest/doctest.h>

#include <ctime>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr uint64_t ms = 1'000'000;

void work_for(uint64_t ns) {
  const std::clock_t begin = std::clock();
  while (static_cast<uint64_t>(std::clock() - begin) * (1'000'000'000 / CLOCKS_PER_SEC) < ns) {
  }
}

}  // namespace

TEST_CASE("a look comes at once, and the next one when its time has come") {
  Pace pace(ms, 1);
  int looks = 0;
  pace.look([&] { ++looks; });
  CHECK(looks == 1);
  const uint64_t began = monotonic_ns();
  while (looks == 1) pace.look([&] { ++looks; });
  CHECK(monotonic_ns() - began < 5'000 * ms);
}

TEST_CASE("a look that takes long is not made again soon") {
  Pace pace(ms, 1000);
  int looks = 0;
  const uint64_t began = monotonic_ns();
  while (monotonic_ns() - began < 30 * ms)
    pace.look([&] {
      ++looks;
      work_for(6 * ms);  // the next one is after five seconds: no more than that
    });
  CHECK(looks == 1);
}
