// SPDX-License-Identifier: BSD-2-Clause
#include "core/units.h"

#include <doctest/doctest.h>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("numbers get separators in groups of three, also negative ones") {
  CHECK(with_commas(0) == "0");
  CHECK(with_commas(999) == "999");
  CHECK(with_commas(1000) == "1,000");
  CHECK(with_commas(-123456) == "-123,456");
  CHECK(with_commas(INT64_MIN) == "-9,223,372,036,854,775,808");
}

TEST_CASE("bytes are written with binary prefixes and never as 1024.0 of the smaller one") {
  CHECK(iec_bytes(0) == "0 B");
  CHECK(iec_bytes(1023) == "1023 B");
  CHECK(iec_bytes(1024) == "1.0 KiB");
  CHECK(iec_bytes(1024 * 1024 - 1) == "1.0 MiB");
  CHECK(iec_bytes(124675686) == "118.9 MiB");
  CHECK(iec_bytes(-2048) == "-2.0 KiB");
  CHECK(iec_bytes(INT64_MAX) == "8.0 EiB");
}

TEST_CASE("pages say their bytes too") {
  CHECK(human(1, {"", Unit::pages}) == "1 page (4.0 KiB)");
  CHECK(human(30826, {"", Unit::pages}) == "30,826 pages (120.4 MiB)");
  CHECK(human(12, {"", Unit::count}) == "12");
  CHECK(human(INT64_MAX, {"", Unit::pages}) == "9,223,372,036,854,775,807 pages (8.0 EiB)");
}

TEST_CASE("a percentage of nothing is not a number") {
  CHECK(percent(1, 4) == "25.0 %");
  CHECK(percent(1, 0) == "-");
}
