// SPDX-License-Identifier: BSD-2-Clause
#include "render/top/sparkline.h"

#include <doctest/doctest.h>

#include <vector>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("bars begin at 0, and the largest value has the highest one") {
  const std::vector<int64_t> values{0, 1, 2, 3, 4, 5, 6, 7, 8};
  CHECK(sparkline(values, 9, 9, true) == "▁▁▂▃▄▅▆▇█");
  CHECK(sparkline(values, 9, 9, false) == "_.:-=+*#@");
  CHECK(sparkline(std::vector<int64_t>{900, 1000}, 2, 2, false) == "@@");
  CHECK(sparkline(std::vector<int64_t>{0, 0}, 2, 2, false) == "__");
}

TEST_CASE("the latest value is on the right, and blanks are for those before the first") {
  CHECK(sparkline(std::vector<int64_t>{1, 2}, 6, 6, false) == "    =@");
  CHECK(sparkline({}, 6, 3, true) == "   ");
  CHECK(sparkline(std::vector<int64_t>{9, 9, 9, 1, 2}, 2, 2, false) == "=@");
}

TEST_CASE("values that share a bar show the largest; few values make wide bars") {
  CHECK(sparkline(std::vector<int64_t>{0, 8, 0, 4, 0, 2}, 6, 3, false) == "@=:");
  CHECK(sparkline(std::vector<int64_t>{4, 8}, 2, 4, false) == "==@@");
}
