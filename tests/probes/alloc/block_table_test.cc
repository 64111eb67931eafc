// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/block_table.h"

#include <doctest/doctest.h>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("a table that becomes full is cleared sooner, whatever clearing costs") {
  constexpr uint64_t ms = 1'000'000, entries = 8192;
  CHECK_FALSE(rest_before_clearing(entries / 4, entries, 10 * ms));
  CHECK(rest_before_clearing(entries / 2, entries, 0) == 1000 * ms);
  CHECK(rest_before_clearing(entries / 2, entries, 10 * ms) == 2000 * ms);
  CHECK(rest_before_clearing(entries / 2 + 1, entries, 10 * ms) == 200 * ms);
  CHECK(rest_before_clearing(entries, entries, 10 * ms) == 200 * ms);
}
