// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/code_tables.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>

using namespace memflame;          // NOLINT(google-build-using-namespace): tests only
using namespace memflame::inside;  // NOLINT(google-build-using-namespace)

TEST_CASE("the place of an old list is left alone for a second, and then used again") {
  RangeRoom room(10);
  uint32_t first = 0;
  REQUIRE(room.take(6, 0, first));
  CHECK(first == 0);
  CHECK(!room.take(6, 0, first));
  room.give(0, 6, 100);
  CHECK(!room.take(6, 100 + RangeRoom::rest_ns - 1, first));
  REQUIRE(room.take(10, 100 + RangeRoom::rest_ns, first));  // with the rest, all in one piece
  CHECK(first == 0);
}

TEST_CASE("a process gets its code with rows, sorted and without overlaps") {
  Exchange exchange(512, 64);
  Spaces spaces;
  CodeTables code(exchange, spaces);
  spaces.adopt(SpaceId{1}, ::getpid(), monotonic_ns());
  code.publish(3, SpaceId{1});
  const uint64_t list = taken_once(exchange.process(3).code);
  const auto first = static_cast<uint32_t>(list);
  const std::span<const CodeRange> ranges =
      exchange.code().subspan(first, static_cast<uint32_t>(list >> 32));
  REQUIRE(!ranges.empty());
  CHECK(taken_once(exchange.process(3).generation) == 1);
  for (size_t i = 1; i < ranges.size(); ++i) CHECK(ranges[i - 1].end <= ranges[i].start);
  const auto here = reinterpret_cast<uint64_t>(&monotonic_ns);
  const auto own = std::find_if(ranges.begin(), ranges.end(), [here](const CodeRange& range) {
    return range.start <= here && here < range.end;
  });
  REQUIRE(own != ranges.end());
  REQUIRE(own->rows != rows_missing);
  REQUIRE(own->rows != by_frame_pointer);
  // The row of that function's first instruction: the return address is at rsp.
  const auto rows = exchange.rows().subspan(own->first_row, own->rows);
  const auto after =
      std::upper_bound(rows.begin(), rows.end(), here - own->base,
                       [](uint64_t pc, const unwind::row& row) { return pc < row.pc; });
  REQUIRE(after != rows.begin());
  CHECK((after - 1)->kind == unwind::row_rsp);
  CHECK((after - 1)->cfa == 1);

  code.publish(3, SpaceId{1});  // nothing has changed
  CHECK(taken_once(exchange.process(3).generation) == 1);
  code.release(3, SpaceId{1});
  code.publish(3, SpaceId{1});
  CHECK(taken_once(exchange.process(3).generation) == 2);
  CHECK(static_cast<uint32_t>(taken_once(exchange.process(3).code)) != first);
}
