// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/agent/block_set.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <set>
#include <thread>
#include <vector>

using namespace memflame;          // NOLINT(google-build-using-namespace): tests only
using namespace memflame::inside;  // NOLINT(google-build-using-namespace)

namespace {

struct Memory {
  std::vector<uint64_t> cells = std::vector<uint64_t>((all_cells + 1) / 16);
  std::vector<uint64_t> places = std::vector<uint64_t>(uint64_t{bucket_places} << bucket_bits);
  BlockSet set{cells.data(), places.data()};
};

// What free() asks first.
bool is_suspected(const BlockSet& set, uint64_t address) {
  return count_in(set, cell_of(address)) != 0;
}

}  // namespace

TEST_CASE("a set of blocks has what was put in, and not what was taken out") {
  Memory memory;
  std::set<uint64_t> model;
  std::mt19937_64 random(3);  // NOLINT(bugprone-random-generator-seed): the same each time
  for (int i = 0; i < 200'000; ++i) {
    const uint64_t address = 0x7f0000000000 + random() % 4000 * 16;
    if (model.contains(address)) {
      REQUIRE(is_suspected(memory.set, address));
      REQUIRE(take_from(memory.set, address));
      model.erase(address);
    } else {
      REQUIRE(!take_from(memory.set, address));
      REQUIRE(put_in(memory.set, address));
      model.insert(address);
    }
  }
  for (const uint64_t address : model) CHECK(take_from(memory.set, address));
  for (uint64_t cell = 0; cell <= all_cells; ++cell) REQUIRE(count_in(memory.set, cell) == 0);
}

TEST_CASE("a block that was freed unseen is in the set once") {
  Memory memory;
  CHECK(put_in(memory.set, 0x1000));
  CHECK(put_in(memory.set, 0x1000));
  CHECK(count_in(memory.set, cell_of(0x1000)) == 1);
  CHECK(take_from(memory.set, 0x1000));
  CHECK(!take_from(memory.set, 0x1000));
}

TEST_CASE("a block without a place is suspected for ever") {
  Memory memory;
  std::vector<uint64_t> blocks, outside;
  for (uint64_t address = 16; blocks.size() < 200'000; address += 16) {
    blocks.push_back(address);
    if (!put_in(memory.set, address)) outside.push_back(address);
  }
  REQUIRE(!outside.empty());
  for (const uint64_t address : blocks) REQUIRE(is_suspected(memory.set, address));
  for (const uint64_t address : blocks) take_from(memory.set, address);
  for (const uint64_t address : outside) {
    CHECK(count_in(memory.set, cell_of(address)) == full_cell);
    CHECK(!take_from(memory.set, address));
  }
}

TEST_CASE("threads change one set, and each finds its own blocks") {
  Memory memory;
  std::atomic<int> missed{0};
  const auto work = [&](uint64_t number) {
    std::mt19937_64 random(number);
    std::vector<uint64_t> own;
    for (int i = 0; i < 50'000; ++i) {
      if (own.size() < 100) {
        // Neighbours of other threads' blocks, so that they share cells and buckets.
        const uint64_t address = 16 * (8 * (random() % 100'000 + 1) + number);
        if (std::find(own.begin(), own.end(), address) == own.end() && put_in(memory.set, address))
          own.push_back(address);
        continue;
      }
      for (const uint64_t address : own)
        missed += !is_suspected(memory.set, address) || !take_from(memory.set, address);
      own.clear();
    }
    for (const uint64_t address : own) missed += !take_from(memory.set, address);
  };
  std::vector<std::thread> threads;
  for (uint64_t number = 0; number < 4; ++number) threads.emplace_back(work, number);
  for (std::thread& thread : threads) thread.join();
  CHECK(missed == 0);
  for (uint64_t cell = 0; cell <= all_cells; ++cell)
    REQUIRE((count_in(memory.set, cell) == 0 || count_in(memory.set, cell) == full_cell));
}
