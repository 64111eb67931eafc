// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/memory_plan.h"

#include <doctest/doctest.h>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr uint64_t mib = 1 << 20;

// The size of a plan's tables when they are full: maps, stacks known in user space, and records
// that wait.
uint64_t bytes_of(const MemoryPlan& plan) {
  return uint64_t{plan.ring_bytes} * 2 + plan.max_stacks * uint64_t{656} +
         plan.max_live * uint64_t{176} + plan.table_mib * mib + plan.max_spaces * uint64_t{16};
}

}  // namespace

TEST_CASE("a plan stays within its limit, and uses it") {
  for (const uint64_t limit : {24 * mib, 32 * mib, 48 * mib, 64 * mib, 100 * mib, 200 * mib}) {
    CAPTURE(limit);
    const MemoryPlan plan = plan_memory(limit, 1000 * mib);
    CHECK_FALSE(plan.is_chosen);
    CHECK(bytes_of(plan) + 16 * mib <= limit);
    CHECK(bytes_of(plan) + 17 * mib >= limit / 2);
    CHECK((plan.ring_bytes & (plan.ring_bytes - 1)) == 0);
    CHECK(plan.max_live >= 4096);
    CHECK(plan.max_stacks >= 2048);
  }
}

TEST_CASE("without a limit, what is free decides") {
  CHECK(plan_memory(0, 8192 * mib).limit == 0);
  CHECK(plan_memory(0, UINT64_MAX).limit == 0);
  const MemoryPlan small = plan_memory(0, 400 * mib);
  CHECK(small.is_chosen);
  CHECK(small.limit == 50 * mib);
  CHECK(plan_memory(0, 0).limit == least_memory);
}

TEST_CASE("options that ask for less keep it") {
  ProbeOptions options;
  options.max_table_mib = 2;
  options.max_live = 100;
  const ProbeOptions limited = within(plan_memory(64 * mib, 0), options);
  CHECK(limited.max_table_mib == 2);
  CHECK(limited.max_live == 100);
  CHECK(limited.ring_bytes < options.ring_bytes);
  CHECK(limited.max_stacks < options.max_stacks);
  CHECK(within(plan_memory(64 * mib, 0), {}).max_live != 0);
  ProbeOptions touches;  // a table of pages is as large as that of blocks
  touches.first_touch = true;
  CHECK(within(plan_memory(64 * mib, 0), touches).max_live ==
        within(plan_memory(64 * mib, 0), {}).max_live / 2);
  const ProbeOptions unlimited = within(plan_memory(0, UINT64_MAX), options);
  CHECK(unlimited.ring_bytes == options.ring_bytes);
}

TEST_CASE("a run says that its tables were small, and what that has lost") {
  Losses losses;
  CHECK(memory_note(plan_memory(0, UINT64_MAX), losses).empty());
  CHECK(memory_note(plan_memory(64 * mib, 0), losses) == "tables for --memory 64.0 MiB");
  losses.add(Loss::live_table_full, 12, 100);
  CHECK(memory_note(plan_memory(64 * mib, 0), losses)
            .ends_with("(12): a larger --memory loses less"));
  CHECK(
      memory_note(plan_memory(0, 400 * mib), losses).starts_with("tables for 50.0 MiB, an eighth"));
}

TEST_CASE("what is free") {
  CHECK(available_in("MemTotal:  9 kB\nMemFree:  1 kB\nMemAvailable:      512 kB\n") == 512 * 1024);
  CHECK(available_in("MemTotal:  9 kB\n") == UINT64_MAX);
  CHECK(free_memory() > 0);
  CHECK(own_memory() > 0);
}
