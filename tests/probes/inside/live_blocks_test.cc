// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/live_blocks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "probes/inside/exchange/protocol.h"

using namespace memflame;          // NOLINT(google-build-using-namespace): tests only
using namespace memflame::inside;  // NOLINT(google-build-using-namespace)

namespace {

LiveEntry block(uint64_t address, uint64_t size, uint32_t stack = 1, uint64_t ticks = 0,
                uint32_t space = 1) {
  return {
      .address = address, .ticks = ticks, .size = size & size_mask, .space = space, .stack = stack};
}

LiveBlocks all_blocks() { return {0, UINT64_MAX, 0}; }

}  // namespace

TEST_CASE("the live table agrees with a map through growth, collisions and removals") {
  LiveTable table;
  LiveEntry old;
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> model;
  std::mt19937_64 random(7);  // NOLINT(bugprone-random-generator-seed): the same each time
  for (int i = 0; i < 300'000; ++i) {
    const auto space = static_cast<uint32_t>(1 + random() % 3);
    const uint64_t address = 16 + random() % 40'000 * 16;
    const auto known = model.find({space, address});
    if (known == model.end()) {
      CHECK(table.find(space, address) == nullptr);
      CHECK(!table.take(space, address));
      REQUIRE(table.put(block(address, random(), 1, 0, space), old) == LiveTable::Put::added);
      model[{space, address}] = table.find(space, address)->size;
    } else {
      const std::optional<LiveEntry> taken = table.take(space, address);
      REQUIRE(taken);
      CHECK(taken->size == known->second);
      model.erase(known);
    }
  }
  CHECK(table.size() == model.size());
  size_t visited = 0;
  table.for_each([&](const LiveEntry& entry) {
    ++visited;
    const auto known = model.find({entry.space, entry.address});
    REQUIRE(known != model.end());
    CHECK(entry.size == known->second);
  });
  CHECK(visited == model.size());
}

TEST_CASE("a free takes from its stack what the allocation gave") {
  LiveBlocks blocks = all_blocks();
  blocks.allocate(block(0x1000, 100, 1), 0);
  blocks.allocate(block(0x2000, 50, 2), 0);
  blocks.free(1, 0x1000, 5, 0);
  CHECK(blocks.sums()[1].live == 0);
  CHECK(blocks.sums()[1].live_count == 0);
  CHECK(blocks.sums()[1].total == 100);
  CHECK(blocks.sums()[1].total_count == 1);
  CHECK(blocks.sums()[2].live == 50);
  CHECK(blocks.counters().events == 2);
  CHECK(blocks.counters().amount == 150);
  CHECK(blocks.counters().freed == 1);
  CHECK(blocks.counters().freed_bytes == 100);
}

TEST_CASE("blocks of a space that is gone make room, and stay in the sums") {
  LiveBlocks blocks(0, UINT64_MAX, 4);
  for (uint32_t i = 0; i < 4; ++i)
    blocks.allocate(block(uint64_t{0x10} * (i + 1), 100, 1, i, 1 + i % 2), 0);
  CHECK(blocks.allocate(block(0x100, 100), 0) == LiveBlocks::Taken::no_room);
  blocks.forget([](SpaceId space) { return space == SpaceId{2}; });
  CHECK(blocks.table().size() == 2);
  CHECK(blocks.sums()[1].live_count == 4);
  CHECK(blocks.allocate(block(0x200, 100), 0) == LiveBlocks::Taken::live);
  CHECK(blocks.free(1, 0x10, 9, 0).was == LiveBlocks::Freed::Was::live);
}

TEST_CASE("an address that is allocated again proves an unseen free") {
  LiveBlocks blocks = all_blocks();
  blocks.allocate(block(0x1000, 100, 1, 10), 0);
  blocks.allocate(block(0x1000, 30, 2, 20), 0);
  CHECK(blocks.sums()[1].live == 0);
  CHECK(blocks.sums()[2].live == 30);
  CHECK(blocks.counters().unseen_frees == 1);
  CHECK(blocks.counters().unseen_free_bytes == 100);
  // Its own thread frees the new block soon: that is not a free of the old one.
  blocks.set_window(100);
  blocks.free(1, 0x1000, 25, 0);
  CHECK(blocks.sums()[2].live == 0);
  CHECK(blocks.reordered() == 0);
}

TEST_CASE("a free of another thread, stamped just after the next allocation, is the old block's") {
  LiveBlocks blocks = all_blocks();
  blocks.set_window(100);
  blocks.allocate(block(0x1000, 100, 1, 1000), 0);
  blocks.allocate(block(0x1000, 30, 2, 2000), 1);
  blocks.free(1, 0x1000, 2010, 0);
  CHECK(blocks.reordered() == 1);
  CHECK(blocks.counters().unseen_frees == 0);
  CHECK(blocks.counters().unseen_free_bytes == 0);
  CHECK(blocks.counters().freed_bytes == 100);
  CHECK(blocks.sums()[2].live == 30);
  blocks.free(1, 0x1000, 2020, 0);
  CHECK(blocks.sums()[2].live == 0);
  CHECK(blocks.counters().freed == 2);

  blocks.allocate(block(0x1000, 100, 1, 3000), 0);
  blocks.allocate(block(0x1000, 30, 2, 4000), 1);
  blocks.free(1, 0x1000, 4200, 0);  // too late for that
  CHECK(blocks.reordered() == 1);
  CHECK(blocks.sums()[2].live == 0);
}

TEST_CASE("a free of another thread, stamped just before the block's allocation, is that block's") {
  LiveBlocks blocks = all_blocks();
  blocks.set_window(100);
  blocks.free(1, 0x1000, 1000, 0);
  CHECK(blocks.counters().free_misses == 1);
  blocks.allocate(block(0x1000, 100, 1, 1010), 1);
  CHECK(blocks.counters().free_misses == 0);
  CHECK(blocks.counters().events == 1);
  CHECK(blocks.counters().freed_bytes == 100);
  CHECK(blocks.sums()[1].live == 0);
  CHECK(blocks.sums()[1].total == 100);
  CHECK(blocks.reordered() == 1);
  blocks.allocate(block(0x1000, 100, 1, 1020), 1);  // the next one lives
  CHECK(blocks.sums()[1].live == 100);

  // One that its own thread allocates, or that comes later, is another block.
  blocks.free(1, 0x2000, 2000, 0);
  blocks.allocate(block(0x2000, 10, 2, 2010), 0);
  blocks.free(1, 0x3000, 3000, 0);
  blocks.allocate(block(0x3000, 10, 2, 3101), 1);
  CHECK(blocks.sums()[2].live == 20);
  CHECK(blocks.counters().free_misses == 2);
}

TEST_CASE("frees of unknown addresses are told from those of blocks from before a fork") {
  LiveBlocks blocks = all_blocks();
  blocks.begin(SpaceId{1}, SpaceId{}, 0);
  blocks.allocate(block(0x1000, 100, 1, 10), 0);
  blocks.begin(SpaceId{2}, SpaceId{1}, 20);
  blocks.begin(SpaceId{3}, SpaceId{2}, 30);
  blocks.allocate(block(0x2000, 100, 1, 40), 0);  // the parent's, after both forks
  blocks.free(2, 0x1000, 50, 1);
  blocks.free(3, 0x1000, 50, 2);
  CHECK(blocks.counters().inherited_frees == 2);
  blocks.free(3, 0x2000, 50, 2);
  blocks.free(1, 0x3000, 50, 0);
  CHECK(blocks.counters().free_misses == 2);
  CHECK(blocks.sums()[1].live == 200);
}

TEST_CASE("a free is undone if realloc() failed") {
  LiveBlocks blocks = all_blocks();
  blocks.allocate(block(0x1000, 100, 1, 10), 0);
  blocks.restore(blocks.free(1, 0x1000, 20, 0));
  CHECK(blocks.sums()[1].live == 100);
  CHECK(blocks.sums()[1].total == 100);
  CHECK(blocks.counters().freed == 0);
  CHECK(blocks.counters().freed_bytes == 0);
  blocks.restore(blocks.free(1, 0x5000, 20, 0));
  CHECK(blocks.counters().free_misses == 0);
}

TEST_CASE("blocks of other sizes are passed over, and a full table counts what it leaves out") {
  LiveBlocks sized(10, 100, 0);
  sized.allocate(block(0x1000, 9), 0);
  sized.allocate(block(0x2000, 10), 0);
  sized.allocate(block(0x3000, 101), 0);
  CHECK(sized.counters().passed_over == 2);
  CHECK(sized.counters().events == 1);
  LiveBlocks small(0, UINT64_MAX, 2);
  for (uint64_t i = 1; i <= 3; ++i) small.allocate(block(i * 16, 10), 0);
  CHECK(small.counters().live_full_events == 1);
  CHECK(small.counters().live_full_bytes == 10);
  CHECK(small.sums()[1].live == 20);
  CHECK(small.sums()[1].total == 30);
  REQUIRE(small.unfollowed().size() == 2);
  CHECK(small.unfollowed()[1].bytes == 10);
  CHECK(small.unfollowed()[1].count == 1);
}

TEST_CASE("sampled blocks stand for others until they are freed") {
  LiveBlocks blocks(0, UINT64_MAX, 0, 4096);
  for (uint64_t i = 1; i <= 100; ++i) blocks.allocate(block(i * 16, 40, 1, i), 0);
  const BlockSums before = blocks.sums()[1];
  CHECK(before.live > 100 * 4000);
  CHECK(before.live == before.total);
  CHECK(before.live_count == before.total_count);
  CHECK(before.live_variance > 0);
  CHECK(before.live_variance == before.total_variance);
  CHECK(blocks.counters().amount == 4000);
  CHECK(blocks.estimate(block(16, 40, 1, 1)).bytes >= 40);
  blocks.allocate(block(16, 40, 1, 200), 0);  // the first one was freed unseen
  blocks.restore(blocks.free(1, 32, 300, 0));
  for (uint64_t i = 1; i <= 100; ++i) blocks.free(1, i * 16, 400 + i, 0);
  const BlockSums after = blocks.sums()[1];
  CHECK(after.live == 0);
  CHECK(after.live_count == 0);
  CHECK(after.live_variance == 0);
  CHECK(after.live_count_variance == 0);
  CHECK(after.total > before.total);
  blocks.free(1, 0x9000, 600, 0);
  CHECK(blocks.counters().free_misses == 0);  // of a block that was not sampled
}

TEST_CASE("the weight of a block follows from its own mean, whichever others there are") {
  LiveBlocks blocks(0, UINT64_MAX, 0, 10000);
  CHECK(blocks.number_of(10000) == 0);
  CHECK_FALSE(blocks.number_of(10001));
  CHECK_FALSE(blocks.number_of(uint64_t{1} << 31));
  CHECK_FALSE(all_blocks().number_of(4096));
  std::mt19937_64 random(1);
  std::vector<LiveEntry> live;
  double expected = 0;
  for (uint64_t i = 1; i <= 2000; ++i) {
    LiveEntry one = block(i * 16, 40 + random() % 1000, 1, i);
    const uint64_t mean = uint64_t{64} << random() % 25;
    one.mean = *blocks.number_of(mean) & 0xff;
    const Estimate estimate = blocks.estimate(one);
    CHECK(estimate.bytes == estimate_of(one.size, mean, bpf::mix(one.address, one.ticks)).bytes);
    expected += static_cast<double>(estimate.bytes);
    blocks.allocate(one, 0);
    live.push_back(one);
  }
  CHECK(static_cast<double>(blocks.sums()[1].live) == expected);
  CHECK(blocks.stand_for() == static_cast<uint64_t>(blocks.sums()[1].total_count));
  std::shuffle(live.begin(), live.end(), random);
  for (const LiveEntry& one : live) blocks.free(1, one.address, 5000, 0);
  const BlockSums& sums = blocks.sums()[1];
  CHECK(sums.live == 0);
  CHECK(sums.live_count == 0);
  CHECK(sums.live_variance == 0);
  CHECK(sums.live_count_variance == 0);
  CHECK(static_cast<double>(sums.total) == expected);
}

TEST_CASE("sampled blocks for which the table is full stand for others, too") {
  LiveBlocks blocks(0, UINT64_MAX, 1, 4096);
  blocks.allocate(block(0x1000, 40, 1, 1), 0);
  const LiveEntry second = block(0x2000, 40, 1, 2);
  blocks.allocate(second, 0);
  const Unfollowed& lost = blocks.unfollowed().at(1);
  CHECK(lost.bytes == static_cast<int64_t>(blocks.estimate(second).bytes));
  CHECK(lost.bytes > 4000);
  CHECK(lost.count == blocks.estimate(second).blocks);
  CHECK(lost.bytes_variance == blocks.estimate(second).bytes_variance);
  CHECK(lost.count_variance > 0);
}

TEST_CASE("a free of a block of another size is not one of an unknown block") {
  LiveBlocks sized(10, 100, 0);
  sized.allocate(block(0x1000, 9), 0);
  sized.free(1, 0x1000, 5, 0);
  CHECK(sized.counters().free_misses == 0);
}

TEST_CASE("sums of processes that are gone begin anew") {
  LiveBlocks blocks(0, UINT64_MAX, 1);
  blocks.allocate(block(0x1000, 40, 1, 1), 0);
  blocks.allocate(block(0x2000, 40, 1, 2), 0);  // the table is full
  REQUIRE(blocks.unfollowed().at(1).count == 1);
  const auto is_gone = [](SpaceId space) { return space.index == 1; };
  blocks.forget(is_gone);
  blocks.forget_sums(is_gone, [](uint32_t stack) { return stack == 1; });
  CHECK(blocks.sums().at(1).total_count == 0);
  CHECK(blocks.sums().at(1).live == 0);
  CHECK(blocks.unfollowed().at(1).count == 0);
}
