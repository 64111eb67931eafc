// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/stretches.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr uint64_t second = 1'000'000'000;

TEST_CASE("a time belongs to the stretch that began last") {
  BirthStretches stretches;
  stretches.begin(10 * second);
  stretches.begin(20 * second);
  CHECK(stretches.of(0) == 0);
  CHECK(stretches.of(10 * second - 1) == 0);
  CHECK(stretches.of(10 * second) == 1);
  CHECK(stretches.of(25 * second) == 2);
}

TEST_CASE("a time that is not after the last begins nothing") {
  BirthStretches stretches;
  stretches.begin(10 * second);
  stretches.begin(10 * second);
  stretches.begin(3 * second);
  CHECK(stretches.starts().size() == 2);
}

// The ledger and the file's reader rely on this.
TEST_CASE("a stretch is never divided: starts only go away") {
  BirthStretches stretches;
  std::vector<uint64_t> before;
  for (uint64_t time = 1; time < 2000; ++time) {
    before.assign(stretches.starts().begin(), stretches.starts().end());
    stretches.begin(time * second);
    std::vector<uint64_t> now(stretches.starts().begin(), stretches.starts().end());
    REQUIRE(now.back() == time * second);
    now.pop_back();
    REQUIRE(std::includes(before.begin(), before.end(), now.begin(), now.end()));
    REQUIRE(now.front() == 0);
  }
}

TEST_CASE("after a week 64 stretches tell the age of a block to two fifths") {
  BirthStretches stretches;
  const uint64_t week = uint64_t{7} * 24 * 3600;
  for (uint64_t time = 1; time <= week; ++time) stretches.begin(time * second);
  const auto starts = stretches.starts();
  CHECK(starts.size() == most_stretches);
  const uint64_t now = week * second;
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    const uint64_t oldest = now - starts[i];
    const uint64_t length = starts[i + 1] - starts[i];
    CAPTURE(i);
    // The youngest are as long as the time between surveys.
    CHECK((length <= 2 * second || length * 5 <= oldest * 2));
  }
}

}  // namespace
