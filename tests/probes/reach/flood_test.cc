// SPDX-License-Identifier: BSD-2-Clause
#include "probes/reach/flood.h"

#include <doctest/doctest.h>

#include <map>

using namespace memflame;

namespace {

// Memory as a value: words by address; those that are missing are 0.
using Memory = std::map<uint64_t, uint64_t>;

WordReader reader_of(const Memory& memory) {
  return [&memory](std::span<const AddressRange> ranges,
                   const std::function<void(size_t, MemoryWords)>& take) {
    for (size_t i = 0; i < ranges.size(); ++i)
      for (auto word = memory.lower_bound(ranges[i].from);
           word != memory.end() && word->first + 8 <= ranges[i].to; ++word)
        take(i, {&word->second, 1});
  };
}

constexpr AddressRange globals{0x1000, 0x2000};

std::vector<Reach> scan(const std::vector<KnownBlock>& blocks, const Memory& memory,
                        std::vector<uint64_t> registers = {}) {
  return reach_of(blocks, registers, {&globals, 1}, reader_of(memory));
}

using enum Reach;
using Reaches = std::vector<Reach>;

TEST_CASE("a block is reached from a root, from a register, or from a reached block") {
  const std::vector<KnownBlock> blocks{{0x10000, 64}, {0x20000, 64}, {0x30000, 64}, {0x40000, 64}};
  CHECK(scan(blocks, {{0x1008, 0x10000}, {0x10010, 0x20000}, {0x20008, 0x30000}}) ==
        Reaches{reachable, reachable, reachable, lost});
  CHECK(scan(blocks, {}, {0x40000}) == Reaches{lost, lost, lost, reachable});
  CHECK(scan({}, {{0x1008, 0x10000}}, {0}).empty());
}

TEST_CASE("a chain of any length is followed, also towards lower addresses") {
  std::vector<KnownBlock> blocks;
  Memory memory;
  constexpr uint64_t count = 5000;
  for (uint64_t i = 0; i < count; ++i) {
    blocks.push_back({0x10000 + i * 32, 24});
    if (i > 0) memory[0x10000 + i * 32 + 8] = 0x10000 + (i - 1) * 32;
  }
  memory[0x1000] = 0x10000 + (count - 1) * 32;
  CHECK(scan(blocks, memory) == Reaches(count, reachable));
  // Without its head, all but the head are indirect.
  memory.erase(0x1000);
  Reaches wanted(count, indirect);
  wanted.back() = lost;
  CHECK(scan(blocks, memory) == wanted);
}

TEST_CASE(
    "lost blocks that point to each other are all indirect; one that points to itself is not") {
  const std::vector<KnownBlock> blocks{{0x10000, 16}, {0x10020, 16}, {0x10040, 16}, {0x10060, 16}};
  CHECK(scan(blocks, {{0x10000, 0x10020}, {0x10020, 0x10000}, {0x10040, 0x10040}}) ==
        Reaches{indirect, indirect, lost, lost});
  // A reached ring is reachable.
  CHECK(scan(blocks, {{0x1000, 0x10020}, {0x10000, 0x10020}, {0x10020, 0x10000}}) ==
        Reaches{reachable, reachable, lost, lost});
}

TEST_CASE("a pointer from a reachable block does not make a block indirect, one from a lost does") {
  const std::vector<KnownBlock> blocks{{0x10000, 16}, {0x10020, 16}, {0x10040, 16}};
  CHECK(scan(blocks, {{0x1000, 0x10000}, {0x10020, 0x10000}, {0x10028, 0x10040}}) ==
        Reaches{reachable, lost, indirect});
}

TEST_CASE("any address in a block reaches it, its end does not") {
  const std::vector<KnownBlock> blocks{{0x10000, 24}, {0x10020, 0}, {0x10040, 8}, {0x10060, 1}};
  for (const uint64_t inside : {0x10000U, 0x10001U, 0x10017U})
    CHECK(scan(blocks, {}, {inside})[0] == reachable);
  CHECK(scan(blocks, {}, {0xffff, 0x10018, 0x1001f})[0] == lost);
  CHECK(scan(blocks, {}, {0x10020})[1] == reachable);
  CHECK(scan(blocks, {}, {0x10021})[1] == lost);
  // An array of no elements behind its count.
  CHECK(scan(blocks, {}, {0x10048})[2] == reachable);
  CHECK(scan(blocks, {}, {0x10049})[2] == lost);
  CHECK(scan(blocks, {}, {0x10061})[3] == lost);
}

TEST_CASE("only aligned words are pointers, and only whole ones") {
  const std::vector<KnownBlock> blocks{{0x10004, 12}, {0x20000, 16}};
  // The first word of the first block lies partly before it.
  CHECK(scan(blocks, {{0x1000, 0x10004}, {0x10000, 0x20000}}) == Reaches{reachable, lost});
  CHECK(scan(blocks, {{0x1000, 0x10004}, {0x10008, 0x20000}}) == Reaches{reachable, reachable});
}

TEST_CASE("an address in several blocks reaches all of them") {
  // A slab with blocks in it, and garbage that overlaps: a staircase.
  const std::vector<KnownBlock> blocks{{0x10000, 0x1000}, {0x10100, 16}, {0x10200, 0x200},
                                       {0x10300, 0x200},  {0x10400, 16}, {0x20000, 16}};
  CHECK(scan(blocks, {}, {0x10108}) == Reaches{reachable, reachable, lost, lost, lost, lost});
  CHECK(scan(blocks, {}, {0x10380}) == Reaches{reachable, lost, reachable, reachable, lost, lost});
  CHECK(scan(blocks, {}, {0x10408}) == Reaches{reachable, lost, lost, reachable, reachable, lost});
  CHECK(scan(blocks, {}, {0x10f00}) == Reaches{reachable, lost, lost, lost, lost, lost});
  CHECK(scan(blocks, {}, {0x11000}) == Reaches(6, lost));
  // Two entries for one address.
  CHECK(scan({{0x10000, 16}, {0x10000, 64}}, {}, {0x10020}) == Reaches{lost, reachable});
}

TEST_CASE("look-ups agree with a plain search") {
  uint64_t seed = 1;
  const auto random = [&seed](uint64_t limit) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (seed >> 33) % limit;
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<KnownBlock> blocks;
    uint64_t at = 0x7f0000000000;
    const size_t count = random(40);
    for (size_t i = 0; i < count; ++i) {
      at += random(3) == 0 ? random(uint64_t{1} << (10 + random(14))) : random(64);
      blocks.push_back({at, random(4) == 0 ? random(uint64_t{1} << random(24)) : random(80)});
    }
    for (int i = 0; i < 50; ++i) {
      const uint64_t address = random(2) == 0 || blocks.empty()
                                   ? 0x7f0000000000 + random(at - 0x7f0000000000 + 100)
                                   : blocks[random(blocks.size())].address + random(100) - 10;
      Reaches wanted;
      for (const KnownBlock& block : blocks) {
        const uint64_t bytes = block.size == 8 ? 9 : std::max<uint64_t>(block.size, 1);
        const bool contains = address >= block.address && address - block.address < bytes;
        wanted.push_back(contains ? reachable : lost);
      }
      CHECK(scan(blocks, {}, {address}) == wanted);
    }
  }
}

TEST_CASE("blocks at both ends of the address space") {
  const std::vector<KnownBlock> blocks{{0, 16}, {UINT64_MAX - 7, 100}};
  CHECK(scan(blocks, {}, {UINT64_MAX}) == Reaches{lost, reachable});
  CHECK(scan(blocks, {}, {0}) == Reaches{reachable, lost});
}

}  // namespace
