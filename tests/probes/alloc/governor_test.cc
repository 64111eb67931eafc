// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/attaching/governor.h"

#include <doctest/doctest.h>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("CPU time is that of a line of /proc/PID/stat") {
  const std::string line =
      "77 (a) b (c)) S 1 77 77 0 -1 4194304 1 2 3 4 150 50 30 20 20 0 1 0 5 6 7\n";
  CHECK(cpu_ticks(line, false) == 200);
  CHECK(cpu_ticks(line, true) == 250);
  CHECK(cpu_ticks("", true) == 0);
  CHECK(cpu_ticks("77 (a", true) == 0);
  CHECK(cpu_ticks("77 (a) S 1", true) == 0);
}
