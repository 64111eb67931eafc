// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/column_words.h"

#include <doctest/doctest.h>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("columns have words that people read") {
  CHECK(column_words("leaked_all") == "leaked with suppressed ones");
  CHECK(column_words("live-count") == "live blocks");
  CHECK(column_words("touched-by") == "live, by who touched it first");
}

TEST_CASE("a name without words stays as it is") {
  CHECK(column_words("live") == "live");
  CHECK(column_words("my_own_map") == "my_own_map");
  CHECK(column_words("zz") == "zz");
  CHECK(column_words("").empty());
}
