// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/select/groups.h"

#include <doctest/doctest.h>

#include <random>

#include "core/error.h"
#include "tests/collapse/select/made_run.h"

using namespace memflame;  // NOLINT(google-build-using-namespace)

namespace {

constexpr uint64_t blocks = 3000;

// Live memory that rises and falls.
MadeRun busy_run(uint64_t seed) {
  std::mt19937_64 random(seed);
  MadeRun run;
  for (int i = 0; i < 5; ++i) run.stack({"f"});
  for (uint64_t i = 0; i < blocks; ++i) {
    const uint64_t allocated = random() % (run.end_ns / 2) + random() % (run.end_ns / 2);
    const RawStackId stack{static_cast<uint32_t>(1 + random() % 5)};
    Block block{.allocated_ns = allocated, .size = random() % 1000, .stack = stack};
    if (random() % 10 != 0) block.freed_ns = allocated + random() % (run.end_ns / 20);
    run.add(block);
  }
  return run;
}

}  // namespace

TEST_CASE("the peak is the same whether all changes are kept or only a few") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    MadeRun run = busy_run(seed);
    const uint64_t peak_ns = groups_of(run, {.peak = true}).peak_ns;
    CHECK(run.passes == 1);
    for (const size_t most : {size_t{1}, size_t{100}, size_t{1000}}) {
      CHECK(groups_of(run, {.peak = true, .most_changes = most}).peak_ns == peak_ns);
      // Most of the run cannot have the peak, and is not read again.
      const int before = run.passes;
      static_cast<void>(groups_of(run, {.peak = true, .most_changes = 1000}));
      CHECK(run.passes - before <= 3);
    }
  }
}

TEST_CASE("peaks of stacks are the same, too") {
  MadeRun run = busy_run(7);
  const RunGroups whole = groups_of(run, {.peak = true, .group_peaks = true});
  const RunGroups parts = groups_of(run, {.peak = true, .group_peaks = true, .most_changes = 500});
  CHECK(run.passes > 8);
  CHECK(parts.peak_ns == whole.peak_ns);
  REQUIRE(parts.groups.size() == whole.groups.size());
  for (size_t i = 0; i < whole.groups.size(); ++i) {
    CHECK(parts.groups[i].peak_ns == whole.groups[i].peak_ns);
    CHECK(parts.groups[i].count == whole.groups[i].count);
    CHECK(parts.groups[i].leaked == whole.groups[i].leaked);
    CHECK(parts.groups[i].span_ns() == whole.groups[i].span_ns());
  }
}

TEST_CASE("what happens all at once is bounded") {
  MadeRun run;
  for (int i = 0; i < 100; ++i) run.add({.allocated_ns = 5, .size = 1});
  CHECK(groups_of(run, {.peak = true, .most_changes = 25}).peak_ns == 5);
  CHECK_THROWS_WITH(groups_of(run, {.peak = true, .most_changes = 24}),
                    doctest::Contains("too much happens"));
}

TEST_CASE("a run without blocks has its peak at the start") {
  MadeRun run;
  run.stack({"f"});
  const RunGroups groups = groups_of(run, {.peak = true, .groups = true, .group_peaks = true});
  CHECK(groups.peak_ns == 0);
  CHECK(groups.groups.size() == 2);
}
