// SPDX-License-Identifier: BSD-2-Clause
#include "probes/mmap/intervals.h"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <utility>
#include <vector>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr uint64_t page = 4096;

std::map<uint64_t, uint64_t> owned(const Intervals& map) {
  std::map<uint64_t, uint64_t> pages;
  map.for_each([&](uint64_t start, uint64_t end, const Intervals::Part& part) {
    pages[part.owner] += (end - start) / page;
  });
  return pages;
}

void map_pages(Intervals& map, uint64_t start, uint64_t count, uint64_t owner,
               MapKind kind = MapKind::anon) {
  map.map(start * page, (start + count) * page, owner, kind,
          kind == MapKind::none ? MapKind::anon : kind);
}
void unmap_pages(Intervals& map, uint64_t start, uint64_t count) {
  map.unmap(start * page, (start + count) * page);
}

using Owned = std::map<uint64_t, uint64_t>;

}  // namespace

TEST_CASE("unmapping the start, the middle and the end leaves the rest to its owner") {
  Intervals map;
  map_pages(map, 100, 10, 1);
  unmap_pages(map, 100, 2);
  unmap_pages(map, 105, 1);
  unmap_pages(map, 108, 2);
  CHECK(owned(map) == Owned{{1, 5}});
}

TEST_CASE("an unmapping over holes and other maps takes only what is there") {
  Intervals map;
  map_pages(map, 10, 2, 1);
  map_pages(map, 20, 2, 2);
  map_pages(map, 30, 2, 3);
  unmap_pages(map, 11, 1u << 20);
  CHECK(owned(map) == Owned{{1, 1}});
}

TEST_CASE("a fixed mapping over another replaces the overlap") {
  Intervals map;
  map_pages(map, 100, 7, 1);
  map_pages(map, 102, 1, 2);
  CHECK(owned(map) == Owned{{1, 6}, {2, 1}});
  map_pages(map, 98, 20, 3);
  CHECK(owned(map) == Owned{{3, 20}});
}

TEST_CASE(
    "mremap: growth belongs to the code that grows it, shrink takes the tail, a move keeps the "
    "owner") {
  Intervals map;
  map_pages(map, 100, 4, 1);
  map.remap(100 * page, 4 * page, 100 * page, 6 * page, 2, false);
  CHECK(owned(map) == Owned{{1, 4}, {2, 2}});
  map.remap(100 * page, 6 * page, 500 * page, 6 * page, 3, false);
  CHECK(owned(map) == Owned{{1, 4}, {2, 2}});
  map.remap(500 * page, 6 * page, 500 * page, 3 * page, 3, false);
  CHECK(owned(map) == Owned{{1, 3}});
  unmap_pages(map, 100, 6);
  CHECK(owned(map) == Owned{{1, 3}});
}

TEST_CASE("MREMAP_DONTUNMAP leaves the old range mapped, for the caller") {
  Intervals map;
  map_pages(map, 100, 4, 1);
  map.remap(100 * page, 4 * page, 200 * page, 4 * page, 2, true);
  CHECK(owned(map) == Owned{{1, 4}, {2, 4}});
}

TEST_CASE("memory from before the start: released once, moved without being released") {
  Intervals map;
  map_pages(map, 100, 10, Intervals::before_start);
  unmap_pages(map, 100, 1);
  CHECK(map.released_older() == page);
  map.remap(101 * page, 4 * page, 300 * page, 4 * page, 7, false);
  CHECK(map.released_older() == page);
  map.remap(300 * page, 4 * page, 300 * page, 1 * page, 7, false);
  CHECK(map.released_older() == 4 * page);
  map_pages(map, 105, 5, 8);
  CHECK(map.released_older() == 9 * page);
}

TEST_CASE("making reserved memory accessible hands it over; other protection changes do not") {
  Intervals map;
  map_pages(map, 100, 16, 1, MapKind::none);
  map.protect(100 * page, 103 * page, true, 2);
  map.protect(100 * page, 101 * page, true, 9);
  CHECK(owned(map) == Owned{{1, 13}, {2, 3}});
  map.protect(100 * page, 101 * page, false, 9);
  uint64_t reserved = 0;
  map.for_each([&](uint64_t start, uint64_t end, const Intervals::Part& part) {
    if (part.kind == MapKind::none) reserved += (end - start) / page;
  });
  CHECK(reserved == 14);
  CHECK(owned(map) == Owned{{1, 13}, {2, 3}});
}

TEST_CASE("a child inherits everything as older than the start") {
  Intervals map;
  map_pages(map, 100, 4, 1);
  Intervals child = map.inherited();
  CHECK(owned(child) == Owned{{Intervals::before_start, 4}});
  unmap_pages(child, 100, 4);
  CHECK(child.released_older() == 4 * page);
}

TEST_CASE("random operations agree with a map that keeps every page by itself") {
  std::mt19937 random(12341234);
  const auto below = [&](uint64_t n) {
    return std::uniform_int_distribution<uint64_t>(0, n - 1)(random);
  };
  Intervals map;
  std::vector<uint64_t> model(256, UINT64_MAX);  // page -> owner
  for (uint64_t step = 1; step < 20000; ++step) {
    const uint64_t start = below(200);
    const uint64_t count = 1 + below(40);
    switch (below(3)) {
      case 0:
        map_pages(map, start, count, step);
        for (uint64_t p = start; p < start + count; ++p) model[p] = step;
        break;
      case 1:
        unmap_pages(map, start, count);
        for (uint64_t p = start; p < start + count; ++p) model[p] = UINT64_MAX;
        break;
      default: {
        // A move to a place that does not overlap, as the kernel demands.
        const uint64_t to = start < 100 ? 150 + below(60) : below(50);
        const uint64_t size = 1 + below(20);
        bool whole = true;
        for (uint64_t p = start; p < start + size; ++p) whole &= model[p] != UINT64_MAX;
        if (!whole || (to < start + size && start < to + size)) break;
        map.remap(start * page, size * page, to * page, size * page, step, false);
        for (uint64_t p = 0; p < size; ++p)
          model[to + p] = std::exchange(model[start + p], UINT64_MAX);
      }
    }
    Owned expected;
    for (const uint64_t owner : model)
      if (owner != UINT64_MAX) ++expected[owner];
    REQUIRE(owned(map) == expected);
  }
}
