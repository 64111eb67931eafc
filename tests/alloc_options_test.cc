// SPDX-License-Identifier: BSD-2-Clause
#include "cli/alloc_options.h"

#include <doctest/doctest.h>

#include "core/error.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("options: bytes with units") {
  CHECK(parse_bytes("--sample", "4096") == 4096);
  CHECK(parse_bytes("--sample", "0") == 0);
  CHECK(parse_bytes("--sample", "10B") == 10);
  CHECK(parse_bytes("--sample", "512K") == 512 << 10);
  CHECK(parse_bytes("--sample", "512k") == 512 << 10);
  CHECK(parse_bytes("--sample", "512KB") == 512 << 10);
  CHECK(parse_bytes("--sample", "1.5M") == 3 << 19);
  CHECK(parse_bytes("--sample", "2GiB") == 2ULL << 30);
  CHECK(parse_bytes("--sample", "8388607T") == 8388607ULL << 40);
}

TEST_CASE("options: what is not a number of bytes is refused, by the option's name") {
  for (const char* text : {"", "x", "K", "-1", "1X", "1KX", "1Ki", "1 K", "1e99", "nan", "inf",
                           "0x10", "8388608T", "1BB"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(parse_bytes("--sample", text), doctest::Contains("--sample"), Error);
  }
}
