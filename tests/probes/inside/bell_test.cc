// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/bell.h"

#include <doctest/doctest.h>
#include <poll.h>

#include "probes/inside/agent/sys.h"
#include "probes/inside/exchange.h"

using namespace memflame::inside;  // NOLINT(google-build-using-namespace): tests only

namespace {

// What a thread does that waits for memflame (agent/record.cc).
void ring(Control& control) {
  publish(control.rests, 0U);
  publish(control.bell, taken_once(control.bell) + 1);
  wake(control.bell);
}

bool is_rung(const Bell& bell, int patience_ms) {
  pollfd entry{.fd = bell.rung(), .events = POLLIN, .revents = 0};
  return ::poll(&entry, 1, patience_ms) == 1;
}

}  // namespace

TEST_CASE("a bell is heard once for each time that it is rung") {
  constexpr int patience_ms = 60'000;
  Exchange exchange(100, 1);
  Bell bell(exchange.control());
  for (int i = 0; i < 100; ++i) {
    bell.begin_rest();
    CHECK(exchange.control().rests == 1);
    CHECK_FALSE(is_rung(bell, 0));
    ring(exchange.control());
    REQUIRE(is_rung(bell, patience_ms));
    bell.end_rest();
    bell.answer();
    CHECK(exchange.control().rests == 0);
  }
  bell.answer();  // of nobody
  CHECK_FALSE(is_rung(bell, 0));
}
