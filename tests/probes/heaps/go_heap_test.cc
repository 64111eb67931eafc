// SPDX-License-Identifier: BSD-2-Clause
#include "probes/heaps/go/go_heap.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <vector>

#include "core/elf/go_version.h"
#include "core/error.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

// The memory of a program: words from `base` on. Around it nothing can be read.
struct GoMemory {
  static constexpr uint64_t base = 0x10000;
  static constexpr uint64_t head = base, cycle = base + 8, rate = base + 16;
  std::vector<uint64_t> words = std::vector<uint64_t>(1024);
  uint64_t end = base + 64;
  int reads = 0;
  std::function<void(GoMemory&)> before_read = [](GoMemory&) {};

  uint64_t& at(uint64_t address) { return words[(address - base) / 8]; }

  // A bucket before those that the list has. figures: of the published state and of three cycles,
  // {blocks allocated, freed} each.
  uint64_t add(uint64_t size, std::initializer_list<uint64_t> pcs,
               std::initializer_list<std::pair<uint64_t, uint64_t>> figures) {
    const uint64_t bucket = end;
    uint64_t to = bucket;
    for (const uint64_t word : {uint64_t{0}, at(head), uint64_t{1}, uint64_t{77}, size,
                                static_cast<uint64_t>(pcs.size())})
      at(to) = word, to += 8;
    for (const uint64_t pc : pcs) at(to) = pc, to += 8;
    for (const auto& [allocated, freed] : figures)
      for (const uint64_t word : {allocated, freed, allocated * size, freed * size})
        at(to) = word, to += 8;
    end = to;
    at(head) = bucket;
    return bucket;
  }

  ReadMemory reader() {
    return [this](uint64_t address, std::span<std::byte> to) {
      ++reads;
      before_read(*this);
      if (address < base || address - base > 8 * words.size() ||
          8 * words.size() - (address - base) < to.size())
        return false;
      std::memcpy(to.data(), reinterpret_cast<const std::byte*>(words.data()) + (address - base),
                  to.size());
      return true;
    };
  }
};

GoAddresses places() {
  return {{GoMemory::head}, {GoMemory::cycle}, {GoMemory::rate}, 0x9000, 0x9100};
}

GoHeap heap_in(GoMemory& memory) { return read_go_heap(memory.reader(), places()); }

}  // namespace

TEST_CASE("Go's heap: what is published, and the cycle that is due") {
  GoMemory memory;
  memory.at(GoMemory::rate) = 4096;
  memory.at(GoMemory::cycle) = (4U << 1) | 1;  // the due one is the second of three
  memory.add(64, {0x100, 0x200}, {{10, 3}, {100, 0}, {5, 1}, {1000, 0}});
  memory.add(32, {0x300}, {{1, 0}, {0, 0}, {0, 0}, {7, 7}});
  const GoHeap heap = heap_in(memory);
  CHECK(heap.rate == 4096);
  CHECK_FALSE(heap.is_early);
  CHECK(heap.readings == 2);
  REQUIRE(heap.buckets.size() == 2);
  CHECK(heap.buckets[0] == GoBucket{{0x300}, 32, 1, 0, 32, 0});
  CHECK(heap.buckets[1] == GoBucket{{0x100, 0x200}, 64, 15, 4, 960, 256});
}

TEST_CASE("Go's heap before the first collection has all cycles") {
  GoMemory memory;
  memory.at(GoMemory::rate) = 1;
  memory.add(16, {0x100}, {{0, 0}, {0, 0}, {2, 0}, {3, 1}});
  const GoHeap heap = heap_in(memory);
  CHECK(heap.is_early);
  REQUIRE(heap.buckets.size() == 1);
  CHECK(heap.buckets[0] == GoBucket{{0x100}, 16, 5, 1, 80, 16});
}

TEST_CASE("Go's notes between the addresses of a stack do not count as callers") {
  GoMemory memory;
  memory.at(GoMemory::rate) = 1;
  memory.add(16, {0x100, 0x9001, 0x200}, {{1, 0}, {0, 0}, {0, 0}, {0, 0}});
  CHECK(heap_in(memory).buckets.at(0).pcs == std::vector<uint64_t>{0x100, 0x200});
}

TEST_CASE("a figure that is half changed is read again") {
  GoMemory memory;
  memory.at(GoMemory::rate) = 1;
  const uint64_t bucket = memory.add(16, {0x100}, {{4, 0}, {0, 0}, {0, 0}, {0, 0}});
  const uint64_t blocks = bucket + 48 + 8;
  memory.at(blocks) = 5;  // the bytes follow
  memory.before_read = [&](GoMemory& changed) {
    if (changed.reads == 20) changed.at(blocks + 16) = 80;
  };
  const GoHeap heap = heap_in(memory);
  CHECK(heap.buckets.at(0) == GoBucket{{0x100}, 16, 5, 0, 80, 0});
  CHECK(heap.readings > 2);
}

TEST_CASE("a cycle that is being published counts once") {
  GoMemory memory;
  memory.at(GoMemory::rate) = 1;
  const uint64_t figures = memory.add(16, {0x100}, {{4, 0}, {2, 0}, {0, 0}, {0, 0}}) + 48 + 8;
  // Added to what is published, but not cleared yet.
  memory.at(figures) = 6;
  memory.at(figures + 16) = 96;
  memory.before_read = [&](GoMemory& changed) {
    if (changed.reads == 6) changed.at(figures + 32) = changed.at(figures + 48) = 0;
  };
  CHECK(heap_in(memory).buckets.at(0).allocated == 6);
}

namespace {

// A bucket as a program that was killed left it in memory.
std::vector<std::byte> copied(GoMemory& memory, uint64_t bucket, size_t addresses) {
  std::vector<std::byte> bytes(48 + addresses * 8 + 128);
  REQUIRE(memory.reader()(bucket, bytes));
  return bytes;
}

}  // namespace

TEST_CASE("what was copied of a list at a kill has the figures of a reading") {
  GoMemory memory;
  memory.at(GoMemory::rate) = 1;
  constexpr uint32_t cycle = (4U << 1) | 1;
  memory.at(GoMemory::cycle) = cycle;
  std::vector<std::vector<std::byte>> buckets;
  const uint64_t first = memory.add(64, {0x100, 0x200}, {{10, 3}, {100, 0}, {5, 1}, {1000, 0}});
  const uint64_t second = memory.add(32, {0x300, 0x9001}, {{1, 0}, {0, 0}, {0, 0}, {7, 7}});
  buckets = {copied(memory, second, 2), copied(memory, first, 2)};
  uint64_t damaged = 0;
  const GoHeap read = heap_in(memory);
  const GoHeap copy = go_heap_of_copy(buckets, cycle, places(), damaged);
  CHECK(copy.buckets == read.buckets);
  CHECK(copy.is_early == read.is_early);
  CHECK(damaged == 0);
  CHECK(read.head == GoMemory::head);
  // What no collection has published yet.
  CHECK(copy.buckets.at(0).unpublished == 7);
  CHECK(copy.buckets.at(1).unpublished == 1100);
}

TEST_CASE("a copy that is damaged is counted, and the other ones stay") {
  GoMemory memory;
  const uint64_t bucket = memory.add(64, {0x100}, {{10, 3}, {0, 0}, {0, 0}, {0, 0}});
  memory.at(bucket + 48 + 8) = 11;  // the bytes were to follow
  std::vector<std::vector<std::byte>> buckets(5, copied(memory, bucket, 1));
  buckets[1].resize(40);
  buckets[2].resize(buckets[2].size() - 8);
  buckets[3][40] = std::byte{200};  // that many addresses
  buckets[4][16] = std::byte{2};    // of another type
  uint64_t damaged = 0;
  const GoHeap heap = go_heap_of_copy(buckets, 0, places(), damaged);
  CHECK(damaged == 4);
  REQUIRE(heap.buckets.size() == 1);
  CHECK(heap.buckets[0] == GoBucket{{0x100}, 64, 11, 3, 704, 192});
}

TEST_CASE("what is not a list of the heap profile is refused") {
  GoMemory memory;
  memory.at(GoMemory::rate) = 1;
  const uint64_t bucket = memory.add(16, {0x100}, {{1, 0}, {0, 0}, {0, 0}, {0, 0}});
  SUBCASE("another type") { memory.at(bucket + 16) = 2; }
  SUBCASE("too many addresses") { memory.at(bucket + 40) = 2000; }
  SUBCASE("a pointer to nowhere") { memory.at(bucket + 8) = 0x50; }
  SUBCASE("an odd pointer") { memory.at(bucket + 8) = bucket + 3; }
  SUBCASE("a ring of one") { memory.at(bucket + 8) = bucket; }
  SUBCASE("a longer ring") {
    memory.add(16, {0x100}, {{1, 0}, {0, 0}, {0, 0}, {0, 0}});
    const uint64_t third = memory.add(16, {0x100}, {{1, 0}, {0, 0}, {0, 0}, {0, 0}});
    memory.at(bucket + 8) = third;
  }
  SUBCASE("no list") { memory.at(GoMemory::head) = 1; }
  CHECK_THROWS_AS(heap_in(memory), Error);
}

TEST_CASE("Go's heap: candidates") {
  GoMemory memory;
  memory.at(GoMemory::rate) = 512;
  memory.add(16, {0x100}, {{1, 0}, {0, 0}, {0, 0}, {0, 0}});
  GoAddresses several = places();
  // Not readable, and words that are neither.
  several.buckets = {0x8, GoMemory::rate, GoMemory::base + 24, GoMemory::head};
  several.rate = {0x8, GoMemory::base + 24, GoMemory::rate};
  const GoHeap heap = read_go_heap(memory.reader(), several);
  CHECK(heap.rate == 512);
  CHECK(heap.buckets.size() == 1);
  several.rate = {GoMemory::base + 24};
  CHECK(go_rate(memory.reader(), several) == 0);
  several.rate = {0x8};
  CHECK_THROWS_AS(go_rate(memory.reader(), several), Error);
}

TEST_CASE("an empty profile has no buckets") {
  GoMemory memory;
  memory.at(GoMemory::rate) = 512;
  CHECK(heap_in(memory).buckets.empty());
}

TEST_CASE("estimates are those of Go's pprof") {
  CHECK(go_estimate(0, 0, 524288).bytes == 0);
  CHECK(go_estimate(10, 160, 1).bytes == 160);
  // 8 blocks of 1 MiB: each is sampled with a chance of 86 %.
  CHECK(go_estimate(8, 8 << 20, 524288).bytes == 9701573);
  CHECK(go_estimate(8, 8 << 20, 524288).blocks == 9);
  CHECK(go_estimate(1, 16, 524288).blocks == 32768);
}

TEST_CASE("versions of Go") {
  CHECK(parse_go_version("go1.19.8") == GoVersion{1, 19});
  CHECK(parse_go_version("go1.22") == GoVersion{1, 22});
  CHECK(parse_go_version("devel go1.24-d1e1a1") == GoVersion{1, 24});
  CHECK_FALSE(parse_go_version("go"));
  CHECK_FALSE(parse_go_version("cargo1.2"));
  CHECK_FALSE(parse_go_version("gopher"));
  CHECK_FALSE(parse_go_version(""));
  CHECK(GoVersion{1, 9} < oldest_go_heap);
}
