// SPDX-License-Identifier: BSD-2-Clause
#include "render/order/name_order.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::vector<std::string> ordered(const std::vector<std::string>& names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  std::vector<std::string> out;
  for (const uint32_t i : name_order(views)) out.push_back(names[i]);
  return out;
}

}  // namespace

TEST_CASE("names are ordered by their bytes, shorter ones first") {
  CHECK(ordered({}).empty());
  CHECK(ordered({"b", "", "a", "\xff", "ab", "b"}) ==
        std::vector<std::string>{"", "a", "ab", "b", "b", "\xff"});
  using namespace std::string_literals;
  CHECK(ordered({"1234567a"s, "1234567\0"s, "1234567"s, "123456"s, "123456\0"s}) ==
        std::vector<std::string>{"123456"s, "123456\0"s, "1234567"s, "1234567\0"s, "1234567a"s});
}

TEST_CASE("the order is that of comparing two by two") {
  std::minstd_rand random(3);
  std::vector<std::string> names;
  for (int i = 0; i < 5000; ++i) {
    std::string name(random() % 3 * 7, 'p');
    for (size_t n = random() % 10; n > 0; --n) name += "ab\0\xff"[random() % 4];
    names.push_back(name);
  }
  std::vector<std::string> expected = names;
  std::sort(expected.begin(), expected.end());
  CHECK(ordered(names) == expected);
}
