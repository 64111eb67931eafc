// SPDX-License-Identifier: BSD-2-Clause
#include "cli/runs/durations.h"

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
  CHECK(memflame::parse_stretch("90..5m").from_ns == 90'000'000'000);
  CHECK(memflame::parse_stretch("90..5m").until_ns == 300'000'000'000);
  CHECK_FALSE(memflame::parse_stretch("..5m").from_ns);
  CHECK_FALSE(memflame::parse_stretch("1h..").until_ns);
  for (const char* text : {"5", "a..b", "5m..90", "1..2..3", "-1..2", "0..1e300"})
    CHECK_THROWS_AS(memflame::parse_stretch(text), memflame::Error);
}

TEST_CASE("times of a run are exact to the nanosecond") {
  using memflame::parse_nanoseconds_of_run;
  CHECK(parse_nanoseconds_of_run("1.234567") == 1'234'567'000);  // 1.234567 * 1e9 is less
  CHECK(parse_nanoseconds_of_run("0.000000001s") == 1);
  CHECK(parse_nanoseconds_of_run("999999.123456789") == 999'999'123'456'789);
  CHECK(parse_nanoseconds_of_run("1h0.5s") == 3'600'500'000'000);
  CHECK(parse_nanoseconds_of_run("250us") == 250'000);
  CHECK(parse_nanoseconds_of_run("0.30000000000000004") == 300'000'000);  // more digits
  CHECK_FALSE(parse_nanoseconds_of_run("2000000000"));
  CHECK_FALSE(parse_nanoseconds_of_run("soon"));
}
