// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/events/block_fold.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/collapse/events/made_events.h"
#include "tests/collapse/events/naive_fold.h"
#include "tests/support/scaled.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

using Blocks = std::vector<std::pair<Block, Chain>>;

const History& tables() {
  static const History history = history_of_events();
  return history;
}

// One line each.
std::vector<std::string> in_words(const std::vector<LiveChange>& changes) {
  std::vector<std::string> lines;
  lines.reserve(changes.size());
  for (const LiveChange& change : changes)
    lines.push_back(std::to_string(change.time_ns) + (change.is_free ? " -" : " +") +
                    std::to_string(change.bytes) + " " + std::to_string(change.stack.index));
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::vector<LiveChange> changes_of(const Blocks& blocks) {
  std::vector<LiveChange> changes;
  for (const auto& [block, chain] : blocks) {
    LiveChange change{.time_ns = block.allocated_ns,
                      .stack = block.stack,
                      .bytes = block.weight != 0 ? block.weight : block.size};
    changes.push_back(change);
    if (block.leaked()) continue;
    change.time_ns = block.freed_ns;
    change.is_free = true;
    changes.push_back(change);
  }
  return changes;
}

Blocks folded(const std::vector<Item>& items, uint64_t end_ns, FoldCounts& counts) {
  Blocks blocks;
  BlockFold fold(tables(), [&](const Block& block, const Chain& chain) {
    // The blocks of a chain come together.
    if (block.position > 1) {
      REQUIRE(!blocks.empty());
      CHECK(blocks.back().first.first == block.first);
      CHECK(blocks.back().first.position + 1 == block.position);
      CHECK(blocks.back().second == chain);
    }
    blocks.emplace_back(block, chain);
  });
  hand_on(items, fold);
  fold.finish(end_ns);
  CHECK(fold.open_blocks() == 0);
  counts = fold.counts();
  CHECK(counts.blocks == blocks.size());
  std::sort(blocks.begin(), blocks.end(),
            [](const auto& a, const auto& b) { return a.first.number < b.first.number; });
  return blocks;
}

Blocks folded(const std::vector<Item>& items, uint64_t end_ns) {
  FoldCounts counts;
  Blocks blocks = folded(items, end_ns, counts);
  CHECK(counts.contradictions == 0);
  CHECK(counts.differences() == 0);
  return blocks;
}

constexpr ThreadId one{1}, two{4};  // of the first process
constexpr RawStackId stack{2};

Event allocation(uint64_t time_ns, uint64_t number, ThreadId thread = one, uint64_t size = 10) {
  return {.kind = EventKind::allocation,
          .time_ns = time_ns,
          .thread = thread,
          .space = {},
          .block = BlockNumber{number},
          .stack = stack,
          .size = size};
}
Event move(uint64_t time_ns, uint64_t from, uint64_t to, ThreadId thread = one,
           uint64_t size = 10) {
  Event event = allocation(time_ns, to, thread, size);
  event.kind = EventKind::move;
  event.moved = BlockNumber{from};
  return event;
}
Event freeing(uint64_t time_ns, uint64_t number, ThreadId thread = one) {
  return {.kind = EventKind::free,
          .time_ns = time_ns,
          .thread = thread,
          .space = {},
          .block = BlockNumber{number},
          .stack = {}};
}
Event restoring(uint64_t time_ns, uint64_t number, ThreadId thread = one) {
  Event event = freeing(time_ns, number, thread);
  event.kind = EventKind::restore;
  return event;
}
Event end_of(uint64_t time_ns, uint32_t space) {
  return {.kind = EventKind::end_of_space,
          .time_ns = time_ns,
          .thread = {},
          .space = SpaceId{space},
          .stack = {}};
}
LiveBlock live(const Event& event) {
  return {.block = event.block,
          .allocated_ns = event.time_ns,
          .thread = event.thread,
          .stack = event.stack,
          .address = event.address,
          .size = event.size,
          .weight = event.weight,
          .count = event.count};
}

}  // namespace

TEST_CASE("a block is freed, or leaks") {
  const Blocks blocks = folded({allocation(1, 1), allocation(2, 2), freeing(5, 1)}, 9);
  REQUIRE(blocks.size() == 2);
  CHECK(blocks[0].first.freed_ns == 5);
  CHECK(blocks[0].first.lifetime_ns() == 4);
  CHECK(blocks[0].first.freeing_thread == one);
  CHECK_FALSE(blocks[0].first.transient);
  CHECK(blocks[1].first.leaked());
  CHECK(blocks[1].first.end_ns == 9);
  CHECK(blocks[1].second == Chain{.length = 1,
                                  .allocated_ns = 2,
                                  .end_ns = 9,
                                  .first_size = 10,
                                  .last_size = 10,
                                  .leaked = true});
}

TEST_CASE("reallocs make a chain") {
  const Blocks blocks = folded(
      {allocation(1, 1, one, 10), move(3, 1, 2, two, 20), move(4, 2, 5, one, 30), freeing(8, 5)},
      9);
  REQUIRE(blocks.size() == 3);
  const Chain chain{.length = 3,
                    .allocated_ns = 1,
                    .end_ns = 8,
                    .first_size = 10,
                    .last_size = 30,
                    .leaked = false};
  for (uint32_t i = 0; i < 3; ++i) {
    CHECK(blocks[i].first.position == i + 1);
    CHECK(blocks[i].first.first == BlockNumber{1});
    CHECK(blocks[i].first.moved == (i < 2));
    CHECK(blocks[i].second == chain);
  }
  CHECK(blocks[0].first.freed_ns == 3);
  CHECK(blocks[0].first.freeing_thread == two);
  CHECK(blocks[0].first.freeing_stack == stack);
}

TEST_CASE("what a realloc of an unknown block gives begins a chain") {
  FoldCounts counts;
  const Blocks blocks = folded({move(3, 7, 8), freeing(4, 6)}, 9, counts);
  REQUIRE(blocks.size() == 1);
  CHECK(blocks[0].first.position == 1);
  CHECK(counts.frees_of_unknown == 2);
  CHECK(counts.contradictions == 0);
}

TEST_CASE("transient is freed by the next call of its thread") {
  const Blocks blocks = folded(
      {allocation(1, 1), allocation(1, 2, two), freeing(2, 1), allocation(3, 3), freeing(4, 3, two),
       freeing(4, 2, two), allocation(5, 4), move(6, 4, 5), freeing(7, 5), allocation(8, 6)},
      9);
  REQUIRE(blocks.size() == 6);
  CHECK(blocks[0].first.transient);
  CHECK_FALSE(blocks[1].first.transient);  // not the next one
  CHECK_FALSE(blocks[2].first.transient);  // another thread
  CHECK(blocks[3].first.transient);        // moved at once
  CHECK(blocks[4].first.transient);
  CHECK_FALSE(blocks[5].first.transient);
}

TEST_CASE("a restore undoes the free") {
  const Blocks blocks =
      folded({allocation(1, 1), freeing(2, 1), allocation(2, 2, two), restoring(3, 1),
              freeing(4, 1), allocation(5, 3), freeing(5, 3), restoring(6, 3)},
             9);
  REQUIRE(blocks.size() == 3);
  CHECK(blocks[0].first.freed_ns == 4);
  CHECK_FALSE(blocks[0].first.transient);
  CHECK(blocks[2].first.leaked());
  CHECK_FALSE(blocks[2].first.transient);
}

TEST_CASE("what lives when its space ends is leaked then") {
  const Blocks blocks =
      folded({allocation(1, 1), allocation(2, 2), freeing(3, 1), end_of(5, 1)}, 9);
  REQUIRE(blocks.size() == 2);
  CHECK_FALSE(blocks[0].first.leaked());
  CHECK(blocks[1].first.leaked());
  CHECK(blocks[1].first.end_ns == 5);
  FoldCounts counts;
  CHECK(
      folded({end_of(5, 1), allocation(6, 1), end_of(7, 1), end_of(7, 0), end_of(7, 99)}, 9, counts)
          .empty());
  CHECK(counts.contradictions == 3);
}

TEST_CASE("the checkpoint after a gap tells what became of blocks") {
  const Event kept = allocation(1, 1), freed = allocation(2, 2), born = allocation(5, 3);
  FoldCounts counts;
  const Blocks blocks = folded({kept, freed, EventGap{.from_ns = 3, .until_ns = 6, .events = 9},
                                Checkpoint{6, {live(kept), live(born)}}, freeing(7, 3)},
                               9, counts);
  REQUIRE(blocks.size() == 3);
  CHECK(blocks[0].first.leaked());
  CHECK_FALSE(blocks[0].first.uncertain);
  CHECK(blocks[1].first.freed_ns == 6);
  CHECK(blocks[1].first.uncertain);
  CHECK_FALSE(blocks[1].first.freeing_thread);
  CHECK(blocks[2].first.allocated_ns == 5);
  CHECK(blocks[2].first.freed_ns == 7);
  CHECK_FALSE(blocks[2].first.uncertain);
  CHECK_FALSE(blocks[2].first.transient);
  CHECK(counts.freed_in_gaps == 1);
  CHECK(counts.allocated_in_gaps == 1);
  CHECK(counts.differences() == 0);
}

TEST_CASE("without a checkpoint after the gap nothing before it is certain") {
  FoldCounts counts;
  const std::vector<Item> items{allocation(1, 1),
                                EventGap{.from_ns = 3, .until_ns = 6, .events = 0}};
  const Blocks blocks = folded(items, 9, counts);
  REQUIRE(blocks.size() == 1);
  CHECK(blocks[0].first.uncertain);
  CHECK(counts.lost == 1);
  // A recording that ends in the gap.
  CHECK_FALSE(folded(items, 3)[0].first.uncertain);
}

TEST_CASE("a checkpoint that ends early does not end blocks") {
  BlockFold fold(tables(), [](const Block& block, const Chain&) { CHECK(block.leaked()); });
  const std::vector<Event> events{allocation(1, 1), allocation(1, 2)};
  fold.events(events);
  const std::vector<LiveBlock> part{live(events[0])};
  fold.checkpoint({.time_ns = 2, .is_first = true, .is_last = false, .blocks = part});
  const std::vector<Event> more{allocation(3, 3)};
  fold.events(more);
  fold.checkpoint({.time_ns = 2, .is_first = false, .is_last = true, .blocks = part});
  CHECK(fold.counts().contradictions == 1);
  CHECK(fold.counts().checkpoints == 0);
  fold.finish(9);
  CHECK(fold.counts().blocks == 3);
}

TEST_CASE("a checkpoint without a gap is compared, and right") {
  const Event kept = allocation(1, 1), missing = allocation(2, 2), other = allocation(2, 4);
  LiveBlock different = live(other);
  different.size = 99;
  FoldCounts counts;
  const Blocks blocks =
      folded({kept, missing, other, Checkpoint{6, {live(kept), live(allocation(4, 3)), different}}},
             9, counts);
  REQUIRE(blocks.size() == 4);
  CHECK(counts.missing == 1);
  CHECK(counts.unannounced == 1);
  CHECK(counts.different == 1);
  CHECK(blocks[1].first.freed_ns == 6);
  CHECK(blocks[1].first.uncertain);
  CHECK(blocks[2].first.allocated_ns == 4);
  CHECK(blocks[2].first.leaked());
}

TEST_CASE("events may begin with a checkpoint") {
  FoldCounts counts;
  const Blocks blocks = folded({Checkpoint{6, {live(allocation(4, 3))}}, freeing(7, 3)}, 9, counts);
  REQUIRE(blocks.size() == 1);
  CHECK(blocks[0].first.freed_ns == 7);
  CHECK(counts == FoldCounts{.blocks = 1, .chains = 1, .gaps = 0, .checkpoints = 1});
}

TEST_CASE("contradictions are counted and change nothing") {
  FoldCounts counts;
  const Blocks blocks =
      folded({allocation(1, 1), allocation(2, 1), move(3, 1, 1), restoring(4, 1), allocation(5, 0),
              Checkpoint{6, {live(allocation(1, 1)), live(allocation(1, 1))}}, freeing(7, 1),
              freeing(8, 1, two)},
             9, counts);
  REQUIRE(blocks.size() == 1);
  CHECK(blocks[0].first.allocated_ns == 1);
  CHECK(blocks[0].first.freed_ns == 7);
  CHECK(counts.contradictions == 5);
  CHECK(counts.frees_of_unknown == 1);
}

TEST_CASE("random recordings are folded as a naive fold does") {
  size_t exact = 0, gaps = 0, checkpoints = 0, moved = 0, transient = 0, uncertain = 0;
  for (unsigned seed = 1; seed <= scaled(10'000); ++seed) {
    CAPTURE(seed);
    const MadeUpEvents made({.seed = seed, .calls = 20 + seed % 100, .gaps = seed % 3 != 0});
    FoldCounts counts;
    const Blocks blocks = folded(made.items, made.end_ns, counts);
    const Blocks expected = naive_blocks(made.items, tables(), made.end_ns);
    REQUIRE(blocks == expected);
    REQUIRE(counts.contradictions == 0);
    REQUIRE(counts.differences() == 0);
    if (counts.gaps == 0) REQUIRE(counts.frees_of_unknown == 0);
    // What a lost event hides never becomes a leak.
    for (const auto& [block, chain] : blocks)
      if (block.leaked() && !block.uncertain)
        REQUIRE((made.live.contains(block.number) || made.leaked.contains(block.number) ||
                 !chain.leaked));
    std::vector<LiveChange> changes;
    BlockFold live(
        tables(), [](const Block&, const Chain&) {},
        [&](const LiveChange& change) { changes.push_back(change); });
    hand_on(made.items, live);
    if (live.changes_are_exact()) {
      ++exact;
      REQUIRE(std::is_sorted(
          changes.begin(), changes.end(),
          [](const LiveChange& a, const LiveChange& b) { return a.time_ns < b.time_ns; }));
      REQUIRE(in_words(changes) == in_words(changes_of(blocks)));
    }
    gaps += counts.gaps;
    checkpoints += counts.checkpoints;
    for (const auto& [block, chain] : blocks) {
      moved += block.moved ? 1 : 0;
      transient += block.transient ? 1 : 0;
      uncertain += block.uncertain ? 1 : 0;
    }
  }
  CHECK(exact > 0);
  CHECK(gaps > 0);
  CHECK(checkpoints > 0);
  CHECK(moved > 0);
  CHECK(transient > 0);
  CHECK(uncertain > 0);
}

TEST_CASE("a chain may have a million blocks") {
  const size_t length = scaled(1'000'000);
  size_t blocks = 0;
  BlockFold fold(tables(), [&](const Block& block, const Chain& chain) {
    ++blocks;
    CHECK_MESSAGE(block.position == blocks, "");
    if (chain.length != length) FAIL("a chain of another length");
  });
  std::vector<Event> events{allocation(1, 1)};
  for (uint64_t number = 2; number <= length; ++number) {
    events.push_back(move(number, number - 1, number));
    if (events.size() < 65'536 && number < length) continue;
    fold.events(events);
    events.clear();
  }
  fold.finish(length + 1);
  CHECK(blocks == length);
}
