// SPDX-License-Identifier: BSD-2-Clause
#include "core/paged.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

// Counts those that exist.
struct Counted {
  Counted() { ++count; }
  Counted(const Counted& other) : text(other.text) { ++count; }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --count; }
  std::string text;
  static inline int count = 0;
};

}  // namespace

TEST_CASE("pages of which nothing is used take no room") {
  Paged<Counted> table(1'000'000);
  CHECK(table.size() == 1'000'000);
  const int before = Counted::count;
  table[500'000].text = "used";
  table[500'001].text = "too";
  const int used = Counted::count;
  CHECK(used > before);
  CHECK(std::as_const(table)[7].text.empty());
  table.reset(500'000);
  CHECK(std::as_const(table)[500'000].text.empty());
  CHECK(table[500'001].text == "too");
  CHECK(!table.is_used(500'000));
  CHECK(table.is_used(500'001));
  table.reset(500'001);
  CHECK(Counted::count < used);
}

TEST_CASE("a table grows, shrinks, and is copied") {
  Paged<std::string> table{"a", "b"};
  for (int i = 0; i < 200; ++i) table.push_back(std::to_string(i));
  CHECK(table.size() == 202);
  CHECK(table.back() == "199");
  const Paged<std::string> copy = table;
  table.resize(100);
  table.resize(202);
  CHECK(table[99] == "97");
  CHECK(std::as_const(table)[100].empty());
  CHECK(std::as_const(table)[201].empty());
  CHECK(copy.at(201) == "199");
  CHECK_THROWS(static_cast<void>(copy.at(202)));
  size_t entries = 0, letters = 0;
  for (const std::string& entry : copy) ++entries, letters += entry.size();
  CHECK(entries == 202);
  CHECK(letters == 2 + 10 + 180 + 300);
}
