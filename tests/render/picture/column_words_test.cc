// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/column_words.h"

#include <doctest/doctest.h>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::string words_of(const std::string& name) {
  return column_words(ValueType{.name = name, .unit = Unit::bytes});
}

}  // namespace

TEST_CASE("columns have words that people read") {
  CHECK(words_of("leaked_all") == "leaked, with suppressed ones");
  CHECK(words_of("live-count") == "live blocks");
  CHECK(words_of("live") == "live");
  CHECK(words_of("still_reachable") == "still reachable");
  CHECK(words_of("").empty());
}
