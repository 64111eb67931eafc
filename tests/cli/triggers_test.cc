// SPDX-License-Identifier: BSD-2-Clause
#include "cli/runs/triggers.h"

#include <doctest/doctest.h>

#include "core/error.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr double mib = 1 << 20;

Triggers triggers(const std::string& text) { return Triggers({parse_condition(text)}); }

bool is_refused(const std::string& text) {
  try {
    parse_condition(text);
  } catch (const Error& error) {
    return error.exit_code == ExitCode::usage;
  }
  return false;
}

}  // namespace

TEST_CASE("conditions are read in the units of people") {
  CHECK(parse_condition("rss > 2G").limit == 2048 * mib);
  CHECK(parse_condition("rss>1.5M").limit == 1.5 * mib);
  CHECK(parse_condition("growth > 100M/h").limit == 100 * mib);
  CHECK(parse_condition("growth > 1M/s").limit == 3600 * mib);
  CHECK(parse_condition("growth > 1M/m").figure == Condition::Figure::growth);
  CHECK(parse_condition("growth > 24M/d").limit == mib);
  CHECK(parse_condition("pressure > 10.5").limit == 10.5);
  CHECK(parse_condition("every 90").limit == 90);
  CHECK(parse_condition("every 10m").limit == 600);
  CHECK(parse_condition("every 1d").limit == 86400);
}

TEST_CASE("what is not a condition is refused") {
  for (const char* text : {"",
                           "rss",
                           "rss >",
                           "rss < 2G",
                           "rss > lots",
                           "rss > -1",
                           "cpu > 3",
                           "growth > 100M",
                           "growth > /h",
                           "growth > 100M/y",
                           "pressure > 0",
                           "pressure > 101",
                           "pressure > 5x",
                           "every",
                           "every 0",
                           "every 0.5",
                           "every 10x",
                           "every nan",
                           "every inf",
                           "every 10m rss > 2G"}) {
    CAPTURE(text);
    CHECK(is_refused(text));
  }
}

TEST_CASE("a condition asks once, and again after it was false for a minute") {
  Triggers rss = triggers("rss > 10M");
  CHECK(rss.due(Reading{.seconds = 1, .rss = 9 * mib}).empty());
  CHECK(rss.due(Reading{.seconds = 2, .rss = 11 * mib}) == "rss > 10M: 11.0 MiB");
  CHECK(rss.due(Reading{.seconds = 3, .rss = 12 * mib}).empty());
  CHECK(rss.due(Reading{.seconds = 4, .rss = 9 * mib}).empty());  // up and down around the limit
  CHECK(rss.due(Reading{.seconds = 63, .rss = 11 * mib}).empty());
  CHECK(rss.due(Reading{.seconds = 64, .rss = 9 * mib}).empty());
  CHECK(rss.due(Reading{.seconds = 124, .rss = 9 * mib}).empty());
  CHECK(rss.due(Reading{.seconds = 125, .rss = 11 * mib}) == "rss > 10M: 11.0 MiB");
}

TEST_CASE("growth is that of the last ten minutes, and needs one") {
  Triggers growth = triggers("growth > 60M/h");
  // 120 MiB an hour from the start: not judged before there is a minute of it.
  for (double at = 0; at < 60; ++at)
    CHECK(growth.due(Reading{.seconds = at, .rss = at / 30 * mib}).empty());
  CHECK(growth.due(Reading{.seconds = 60, .rss = 2 * mib}) == "growth > 60M/h: 120.0 MiB/h");
  // A program that grew at its start and no more falls below it.
  Triggers start = triggers("growth > 60M/h");
  for (double at = 0; at < 600; ++at) start.due(Reading{.seconds = at, .rss = 500 * mib});
  for (double at = 600; at < 1300; ++at)
    CHECK(start.due(Reading{.seconds = at, .rss = 505 * mib}).empty());
}

TEST_CASE("pictures by time come on time, and none is made up for") {
  Triggers time = triggers("every 10");
  CHECK_FALSE(time.wants_reading(5));  // nothing has to be read for it
  CHECK(time.due(9.9).empty());
  CHECK(time.due(10.0) == "every 10");
  CHECK(time.due(10.1).empty());
  CHECK(time.due(45.0) == "every 10");
  CHECK(time.due(49.0).empty());
  CHECK(time.due(50.0) == "every 10");
}

TEST_CASE("figures are read once a second") {
  Triggers pressure = triggers("pressure > 10");
  CHECK(pressure.asks_for(Condition::Figure::pressure));
  CHECK_FALSE(pressure.asks_for(Condition::Figure::rss));
  CHECK(pressure.wants_reading(0));
  CHECK(pressure.due(Reading{.seconds = 0, .pressure = 12.4}) == "pressure > 10: 12 %");
  CHECK_FALSE(pressure.wants_reading(0.5));
  CHECK(pressure.wants_reading(1));
}
