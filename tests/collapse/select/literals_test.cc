// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/select/literals.h"

#include <doctest/doctest.h>

using namespace memflame;  // NOLINT(google-build-using-namespace)

TEST_CASE("lengths of time") {
  CHECK(parse_nanoseconds("12.5s") == 12'500'000'000);
  CHECK(parse_nanoseconds("100ms") == 100'000'000);
  CHECK(parse_nanoseconds("90") == 90'000'000'000);
  CHECK(parse_nanoseconds("1m30s") == 90'000'000'000);
  CHECK(parse_nanoseconds("1.5h") == 5'400'000'000'000);
  CHECK(parse_nanoseconds("2d1h") == 176'400'000'000'000);
  CHECK(parse_nanoseconds("1s2ms3us4ns") == 1'002'003'004);
  CHECK(parse_nanoseconds("0.1ns") == 0);
  CHECK(parse_nanoseconds("0") == 0);
  CHECK(parse_nanoseconds("1000000000s") == 1'000'000'000'000'000'000);
  for (const char* text :
       {"", "s", "1x", "1.s", ".5s", "1s1m", "1s1s", "1m30", "-1s", "1 s", "1e3s", "1.2.3s",
        "1000000001s", "9999999999999999s", "999999999d", "1S"}) {
    CAPTURE(text);
    CHECK(!parse_nanoseconds(text));
  }
}

TEST_CASE("shares are exact") {
  CHECK(parse_percentage("98%") == ExactFraction{98, 2});
  CHECK(parse_percentage("99.95%") == ExactFraction{9995, 4});
  CHECK(parse_share("0.5") == ExactFraction{5, 1});
  CHECK(parse_share("1") == ExactFraction{1, 0});
  CHECK(parse_share("50%") == ExactFraction{50, 2});
  for (const char* text : {"", "%", "98", "98%%", "a%", "1234567890123456%"}) {
    CAPTURE(text);
    CHECK(!parse_percentage(text));
  }
  for (const char* text : {"", "0.5x", "5K", "0.", ".5"}) CHECK(!parse_share(text));
}

TEST_CASE("whole numbers") {
  CHECK(parse_count("0") == 0);
  CHECK(parse_count("18446744073709551615") == UINT64_MAX);
  CHECK(parse_count("0x7f00") == 0x7f00);
  for (const char* text : {"", "0x", "1.5", "1K", "-1", "18446744073709551616", "0xg"}) {
    CAPTURE(text);
    CHECK(!parse_count(text));
  }
}
