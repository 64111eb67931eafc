// SPDX-License-Identifier: BSD-2-Clause
#include "core/history.h"

#include <doctest/doctest.h>

#include "core/error.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::vector<size_t> first_of(const std::vector<std::string>& names) {
  std::vector<ValueType> types;
  types.reserve(names.size());
  for (const std::string& name : names)
    types.push_back(
        {.name = name, .unit = name.ends_with(" variance") ? Unit::variance : Unit::bytes});
  return first_columns_of_probes(types);
}

}  // namespace

TEST_CASE("columns of several probes are told by the names in front of theirs") {
  using Places = std::vector<size_t>;
  CHECK(first_of({}).empty());
  CHECK(first_of({"live", "live-count", "total", "total-count"}).empty());
  CHECK(first_of({"gained", "released"}).empty());
  CHECK(first_of({"live", "live-count", "total", "total-count", "live variance", "brk-grown",
                  "brk-calls", "fault-gained", "fault-gained variance"}) == Places{5, 7});
  CHECK(first_of({"brk-grown", "brk-calls", "mmap-total"}) == Places{0, 2});
  CHECK(first_of({"brk-grown", "brk-calls"}).empty());
}

TEST_CASE("the rows of a look have one table, and as many figures each") {
  LookRows rows{{TrackId{1}, {1, 2}}, {TrackId{3}, {30, 40}}};
  CHECK(rows.size() == 2);
  CHECK(rows[1].track == TrackId{3});
  CHECK(rows[1].values[1] == 40);
  int64_t sum = 0;
  for (const Look::Row& row : rows)
    for (const int64_t value : row.values) sum += value;
  CHECK(sum == 73);
  CHECK_THROWS_AS(rows.add(TrackId{4}, std::vector<int64_t>{1, 2, 3}), Error);
  rows.clear();
  rows.add(TrackId{4}, std::vector<int64_t>{1, 2, 3});
  CHECK(rows[0].values.size() == 3);
}
