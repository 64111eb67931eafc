// SPDX-License-Identifier: BSD-2-Clause
#include "probes/brk/segments.h"

#include <doctest/doctest.h>

#include <map>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::map<uint64_t, int64_t> owned(const Segments& heap) {
  std::map<uint64_t, int64_t> bytes;
  heap.for_each([&](uint64_t owner, int64_t size) { bytes[owner] += size; });
  return bytes;
}

}  // namespace

TEST_CASE("each grower owns what it added, unaligned amounts included") {
  Segments heap;
  heap.move(1000, 1100, 1);
  heap.move(1100, 1103, 2);
  heap.move(1103, 1200, 1);
  CHECK(owned(heap) == std::map<uint64_t, int64_t>{{1, 197}, {2, 3}});
  CHECK(heap.first_break() == 1000);
  CHECK(heap.last_break() == 1200);
}

TEST_CASE("a shrink takes from the newest segments, in part if need be") {
  Segments heap;
  heap.move(1000, 1100, 1);
  heap.move(1100, 1200, 2);
  heap.move(1200, 1300, 3);
  heap.move(1300, 1150, 4);
  CHECK(owned(heap) == std::map<uint64_t, int64_t>{{1, 100}, {2, 50}});
  heap.move(1150, 1400, 5);
  CHECK(owned(heap) == std::map<uint64_t, int64_t>{{1, 100}, {2, 50}, {5, 250}});
}

TEST_CASE("a shrink below the first break gives back what was older") {
  Segments heap;
  heap.move(1000, 1100, 1);
  heap.move(1100, 700, 2);
  CHECK(owned(heap).empty());
  CHECK(heap.released_older() == 300);
  heap.move(700, 900, 3);
  CHECK(owned(heap) == std::map<uint64_t, int64_t>{{3, 200}});
}

TEST_CASE("a lost move leaves its bytes to nobody, not to a wrong owner") {
  Segments heap;
  heap.move(1000, 1100, 1);
  heap.move(1500, 1600, 2);  // 1100 -> 1500 was lost
  CHECK(owned(heap) == std::map<uint64_t, int64_t>{{0, 400}, {1, 100}, {2, 100}});
}
