// SPDX-License-Identifier: BSD-2-Clause
// The agent's threads wake memflame while it rests.
#include "probes/inside/bell.h"

#include <doctest/doctest.h>
#include <poll.h>

#include "tests/probes/inside/agent/fake_process.h"

using namespace memflame::inside;  // NOLINT(google-build-using-namespace): tests only

namespace {

bool is_rung(const Bell& bell, int patience_ms) {
  pollfd entry{.fd = bell.rung(), .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, patience_ms) == 1;
}

}  // namespace

TEST_CASE("a thread that waits for memflame rings once each time that memflame rests") {
  constexpr int patience_ms = 60'000;
  FakeProcess process;
  Control& control = process.control();
  Bell bell(control);
  REQUIRE(wait_a_little(1, Patience::unlimited));
  CHECK(control.bell == 0);  // memflame does not rest
  for (uint32_t i = 1; i <= 100; ++i) {
    bell.begin_rest(rests_until_bell);
    CHECK_FALSE(is_rung(bell, 0));
    REQUIRE(wait_a_little(1, Patience::unlimited));
    REQUIRE(wait_a_little(1, Patience::unlimited));
    CHECK(control.bell == i);
    REQUIRE(is_rung(bell, patience_ms));
    bell.end_rest();
    bell.answer();
    CHECK_FALSE(is_rung(bell, 0));
  }
  bell.begin_rest(rests_until_bell);
  bell.end_rest();
  REQUIRE(wait_a_little(1, Patience::unlimited));
  CHECK(control.bell == 100);
}
