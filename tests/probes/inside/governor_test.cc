// SPDX-License-Identifier: BSD-2-Clause
// What the rate of samples inside follows.
#include "probes/inside/governor.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>

#include "core/clock.h"
#include "probes/processes/os_ledger.h"

using namespace memflame;          // NOLINT(google-build-using-namespace): tests only
using namespace memflame::inside;  // NOLINT(google-build-using-namespace)

namespace {

// Uses more processor time than clock ticks need to tell it.
void work_for(uint64_t ns) {
  const uint64_t end = thread_cpu_ns() + ns;
  while (thread_cpu_ns() < end) {
  }
}

// The distance that a budget of 1 % chooses for this process, which did work meanwhile.
std::optional<uint64_t> chosen_for(const AgentWork& work, uint64_t most_live = 0) {
  Governor governor(1, most_live, false);
  OsLedger os(true);
  os.adopt(SpaceId{1}, ::getpid());
  AgentWork done;
  CHECK_FALSE(governor.poll([&] { return done; }, os));
  work_for(200'000'000);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  done = work;
  return governor.poll([&] { return done; }, os);
}

}  // namespace

TEST_CASE("governor: what memflame takes to read counts as what agents take") {
  CHECK(chosen_for({}).value_or(UINT64_MAX) < first_governed_mean);
  CHECK(chosen_for({.sampled = 1000, .sampled_seconds = 0.05}).value_or(0) > first_governed_mean);
  CHECK(chosen_for({.sampled = 1000, .read_seconds = 0.05}).value_or(0) > first_governed_mean);
}

TEST_CASE("governor: samples become rare before the table of live blocks is full") {
  CHECK(chosen_for({.live = 6000}).value_or(UINT64_MAX) < first_governed_mean);
  CHECK(chosen_for({.live = 6000}, 8192).value_or(0) == 2 * first_governed_mean);
  CHECK(chosen_for({.live = 3000}, 8192) == std::nullopt);
  CHECK(chosen_for({.live = 1000}, 8192).value_or(UINT64_MAX) < first_governed_mean);
}
