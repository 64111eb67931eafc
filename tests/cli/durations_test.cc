// SPDX-License-Identifier: BSD-2-Clause
#include "cli/durations.h"

#include <doctest/doctest.h>

#include "core/error.h"

using memflame::parse_duration;

TEST_CASE("lengths of time") {
  CHECK(parse_duration("90") == 90);
  CHECK(parse_duration("0") == 0);
  CHECK(parse_duration("1.5s") == 1.5);
  CHECK(parse_duration("10m") == 600);
  CHECK(parse_duration("1m30s") == 90);
  CHECK(parse_duration("1d2h") == 26 * 3600);
  for (const char* text : {"", "s", "m5", "1x", "-1", "+1", "1e3", "nan", "inf", "1m30", "30s1m",
                           "1m1m", "1 m", "1m "}) {
    CAPTURE(text);
    CHECK_FALSE(parse_duration(text));
  }
}

TEST_CASE("either side of a stretch of time may be left out") {
  CHECK(memflame::parse_stretch("90..5m").from == 90);
  CHECK(memflame::parse_stretch("90..5m").until == 300);
  CHECK_FALSE(memflame::parse_stretch("..5m").from);
  CHECK_FALSE(memflame::parse_stretch("1h..").until);
  for (const char* text : {"5", "a..b", "5m..90", "1..2..3", "-1..2", "0..1e300"})
    CHECK_THROWS_AS(memflame::parse_stretch(text), memflame::Error);
}
