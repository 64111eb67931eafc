// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/agent_counts.h"

#include <doctest/doctest.h>

using namespace memflame::inside;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr AgentTime second{.us = 1'000'000, .ticks = 3'000'000'000};

}  // namespace

TEST_CASE("agent counts: what is possible is added up") {
  AgentCounts counts;
  const AgentFigures figures{.reentered = 1,
                             .lost = 2,
                             .lost_bytes = 2'000'000'000,
                             .waited_us = 1'000'000,
                             .ringless_frees = 3,
                             .checked = 5,
                             .differing = 4,
                             .sample_ticks = 3'000'000'000,
                             .scripts_unread = 6,
                             .python = python_hooked};
  counts.add(figures, second.of_threads(1));
  counts.add(figures, second.of_threads(1));
  CHECK(counts.damaged == 0);
  CHECK(counts.reentered == 2);
  CHECK(counts.lost == 4);
  CHECK(counts.lost_bytes == 4'000'000'000);
  CHECK(counts.ringless_frees == 6);
  CHECK(counts.waited_us == 2'000'000);
  CHECK(counts.checked == 10);
  CHECK(counts.differing == 8);
  CHECK(counts.sample_ticks == 6'000'000'000);
  CHECK(counts.scripts_unread == 12);
  CHECK(counts.python[python_hooked] == 2);
}

TEST_CASE("agent counts: more threads can have waited longer") {
  const AgentFigures figures{.waited_us = 40'000'000};
  CHECK_FALSE(can_be(figures, second.of_threads(1)));
  CHECK(can_be(figures, second.of_threads(40)));
}

TEST_CASE("agent counts: no machine begins billions of processes in a moment") {
  CHECK(most_begun(0) >= most_executions + 3);
  CHECK(most_begun(1'000'000'000) >= 20'000);
  CHECK(most_begun(10'000'000) < 0xffffffff);
  CHECK(most_begun(UINT64_MAX) > 0xffffffff);
}

TEST_CASE("agent counts: figures of a process with one that cannot be are left out, and told") {
  const auto alone = [](uint64_t AgentFigures::*field, uint64_t value) {
    AgentFigures figures{.lost = 1, .checked = 1};
    figures.*field = value;
    AgentCounts counts;
    counts.add(figures, second.of_threads(1));
    CHECK(counts.damaged == 1);
    CHECK(counts.reentered + counts.ringless_frees + counts.waited_us + counts.differing +
              counts.sample_ticks + counts.scripts_unread ==
          0);
    CHECK(counts.lost + counts.checked == 0);
    CHECK(counts.lost_bytes == 0);
  };
  for (const uint64_t value : {UINT64_MAX, UINT64_MAX >> 1U, uint64_t{1} << 62U, UINT64_MAX - 5}) {
    alone(&AgentFigures::reentered, value);
    alone(&AgentFigures::lost, value);
    alone(&AgentFigures::lost_bytes, value);
    alone(&AgentFigures::ringless_frees, value);
    alone(&AgentFigures::waited_us, value);
    alone(&AgentFigures::checked, value);
    alone(&AgentFigures::differing, value);
    alone(&AgentFigures::sample_ticks, value);
    alone(&AgentFigures::scripts_unread, value);
  }
  alone(&AgentFigures::differing, 2);           // of one that was checked
  alone(&AgentFigures::waited_us, 18'000'000);  // of one second
  AgentCounts counts;
  counts.add({.python = python_states}, second);
  CHECK(counts.damaged == 1);
}
