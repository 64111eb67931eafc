// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/block_events.h"

#include <doctest/doctest.h>

#include <map>
#include <random>

#include "core/history.h"
#include "probes/inside/ring_reader.h"
#include "tests/probes/inside/ring_writer.h"
#include "tests/support/scaled.h"

using namespace memflame;          // NOLINT(google-build-using-namespace): tests only
using namespace memflame::inside;  // NOLINT(google-build-using-namespace)

namespace {

using Kinds = std::vector<EventKind>;

// A reader that tells of each block.
struct Told {
  Exchange exchange{512, 1};
  Ticks ticks;
  StackTree stacks;
  LiveBlocks blocks;
  RingReader reader{exchange, stacks, blocks, ticks};
  EventLog log{0};
  BlockEvents events;

  explicit Told(uint64_t least = 0, size_t most = 0, bool free_stacks = false)
      : blocks(least, UINT64_MAX, most), events(blocks, log, ticks, free_stacks) {
    reader.tell(events);
    RingReader::Functions functions{};
    functions[fn_malloc] = 0xf000;
    functions[fn_free] = 0xfe00;
    reader.open(0, SpaceId{1}, functions, 1);
  }
  EventBatch read(bool with_checkpoint = false) {
    reader.read_rest();
    std::optional<Checkpoint> checkpoint;
    if (with_checkpoint) checkpoint = events.checkpoint(1);
    return log.take(1, std::move(checkpoint));
  }
};

Kinds kinds(const EventBatch& batch) {
  Kinds all;
  for (const Event& event : batch.events) all.push_back(event.kind);
  return all;
}

BlockNumber number(uint64_t value) { return static_cast<BlockNumber>(value); }

}  // namespace

TEST_CASE("allocations and frees name blocks by numbers that are never used again") {
  Told told;
  RingWriter ring(told.exchange, 0, 0);
  ring.alloc(0x10, 1, 8, {1, 2});
  ring.free(0x10, 2);
  ring.alloc(0x10, 3, 16, {1, 3});
  ring.free(0x20, 4);  // of the time before
  const EventBatch batch = told.read();
  REQUIRE(kinds(batch) == Kinds{EventKind::allocation, EventKind::free, EventKind::allocation});
  CHECK(batch.events[0].block == number(1));
  CHECK(batch.events[0].address == 0x10);
  CHECK(batch.events[0].size == 8);
  CHECK(batch.events[0].stack == RawStackId{1});
  CHECK(batch.events[1].block == number(1));
  CHECK(batch.events[2].block == number(2));
  CHECK(batch.events[2].stack == RawStackId{2});
  CHECK(batch.events[0].thread == batch.events[2].thread);
  History history;
  told.log.add_threads_to(history.threads);
  REQUIRE(history.threads.size() == 2);
  CHECK(history.threads[1].space == SpaceId{1});
}

TEST_CASE("frees tell their stacks, and so does a realloc whose new block does not count") {
  for (const bool wanted : {true, false}) {
    CAPTURE(wanted);
    Told told(16, 0, wanted);
    RingWriter ring(told.exchange, 0, 0);
    ring.alloc(0x10, 1, 16, {1, 2});
    ring.alloc(0x20, 2, 16, {1, 2});
    ring.alloc(0x30, 3, 16, {1, 2});
    if (wanted)
      ring.free_at(0x10, 4, {1, 3});
    else
      ring.free(0x10, 4);
    ring.leave(0x20, 5);
    ring.alloc(0x20, 6, 8, {1, 4}, fn_realloc);  // smaller than what counts
    ring.leave(0x30, 7);
    ring.alloc(0x40, 8, 80, {1, 5}, fn_realloc);
    const EventBatch batch = told.read();
    REQUIRE(kinds(batch) == Kinds{EventKind::allocation, EventKind::allocation,
                                  EventKind::allocation, EventKind::free, EventKind::free,
                                  EventKind::move});
    if (!wanted) {
      CHECK_FALSE(batch.events[3].stack);
      CHECK_FALSE(batch.events[4].stack);
      continue;
    }
    const auto frames_of = [&](const Event& event) {
      std::vector<uint64_t> frames;
      for (const Pc& pc : told.stacks.raw(event.stack.index).pcs) frames.push_back(pc.addr);
      return frames;
    };
    using Frames = std::vector<uint64_t>;
    CHECK(frames_of(batch.events[3]) == Frames{0xfe00, 3, 1});
    CHECK(frames_of(batch.events[4]) == Frames{4, 1});
    CHECK(frames_of(batch.events[5]) == Frames{5, 1});
    CHECK(told.reader.statistics().free_stacks == 1);
  }
}

TEST_CASE("a checkpoint leaves out what an ended process has left") {
  Told told;
  RingWriter ring(told.exchange, 0, 0);
  ring.alloc(0x10, 1, 8, {1, 2});
  CHECK(told.read(true).checkpoint->blocks.size() == 1);
  told.events.end_of_space(SpaceId{1});
  const EventBatch batch = told.read(true);
  CHECK(kinds(batch) == Kinds{EventKind::end_of_space});
  CHECK(batch.checkpoint->blocks.empty());
  CHECK(told.blocks.table().size() == 1);
}

TEST_CASE("a realloc moves a block") {
  Told told;
  RingWriter ring(told.exchange, 0, 0);
  ring.alloc(0x10, 1, 8, {1});
  ring.leave(0x10, 2);
  ring.alloc(0x30, 3, 80, {1}, fn_realloc);
  ring.free(0x30, 4);
  const EventBatch batch = told.read();
  REQUIRE(kinds(batch) == Kinds{EventKind::allocation, EventKind::move, EventKind::free});
  CHECK(batch.events[1].moved == number(1));
  CHECK(batch.events[1].block == number(2));
  CHECK(batch.events[2].block == number(2));
}

TEST_CASE("a realloc that fails leaves no trace, and the block goes on") {
  Told told;
  RingWriter ring(told.exchange, 0, 0);
  ring.alloc(0x10, 1, 8, {1});
  ring.leave(0x10, 2);
  ring.restore(0x10, 3);
  ring.free(0x10, 4);
  const EventBatch batch = told.read();
  REQUIRE(kinds(batch) == Kinds{EventKind::allocation, EventKind::free});
  CHECK(batch.events[1].block == number(1));
}

TEST_CASE("a free that is taken back is told as such") {
  Told told;
  RingWriter ring(told.exchange, 0, 0);
  ring.alloc(0x10, 1, 8, {1});
  ring.free(0x10, 2);
  ring.restore(0x10, 3);
  ring.free(0x10, 4);
  const EventBatch batch = told.read();
  REQUIRE(kinds(batch) ==
          Kinds{EventKind::allocation, EventKind::free, EventKind::restore, EventKind::free});
  CHECK(batch.events[2].block == number(1));
  CHECK(batch.events[3].block == number(1));
}

TEST_CASE("what a realloc has freed is gone if something else follows, or nothing") {
  Told told;
  RingWriter ring(told.exchange, 0, 0);
  ring.alloc(0x10, 1, 8, {1});
  ring.alloc(0x20, 2, 8, {1});
  ring.leave(0x10, 3);
  ring.alloc(0x30, 4, 8, {1});  // a malloc does not continue it
  ring.leave(0x20, 5);
  const EventBatch batch = told.read(true);
  CHECK(kinds(batch) == Kinds{EventKind::allocation, EventKind::allocation, EventKind::free,
                              EventKind::allocation});
  // Until then it still lives.
  REQUIRE(batch.checkpoint->blocks.size() == 2);
  CHECK(batch.checkpoint->blocks[1].block == number(2));
  ring.end();
  const EventBatch rest = told.read(true);
  REQUIRE(kinds(rest) == Kinds{EventKind::free});
  CHECK(rest.events[0].block == number(2));
  CHECK(rest.checkpoint->blocks.size() == 1);
}

TEST_CASE("an address that is allocated again ends the block that was there") {
  Told told;
  RingWriter ring(told.exchange, 0, 0);
  ring.alloc(0x10, 1, 8, {1});
  ring.alloc(0x10, 2, 8, {1});
  const EventBatch batch = told.read();
  REQUIRE(kinds(batch) == Kinds{EventKind::allocation, EventKind::free, EventKind::allocation});
  CHECK(batch.events[1].block == number(1));
  CHECK(batch.events[2].block == number(2));
}

TEST_CASE("blocks that do not count are not told, blocks without room are lost") {
  Told told(16, 1);
  RingWriter ring(told.exchange, 0, 0);
  ring.alloc(0x10, 1, 8, {1});
  ring.alloc(0x20, 2, 16, {1});
  ring.alloc(0x30, 3, 16, {1});
  ring.free(0x10, 4);
  ring.free(0x30, 5);
  const EventBatch batch = told.read(true);
  CHECK(kinds(batch) == Kinds{EventKind::allocation});
  REQUIRE(batch.gaps.size() == 1);
  CHECK(batch.gaps[0].events == 1);
  REQUIRE(batch.checkpoint->blocks.size() == 1);
  CHECK(batch.checkpoint->blocks[0].address == 0x20);
}

TEST_CASE("a space ends behind all that happened in it") {
  Told told;
  RingWriter ring(told.exchange, 0, 0);
  ring.alloc(0x10, 1, 8, {1});
  told.reader.close(0);
  const EventBatch batch = told.read();
  REQUIRE(kinds(batch) == Kinds{EventKind::allocation, EventKind::end_of_space});
  CHECK(batch.events[1].space == SpaceId{1});
}

TEST_CASE("times never go back") {
  Told told;
  RingWriter one(told.exchange, 0, 0);
  RingWriter two(told.exchange, 1, 0);
  std::mt19937 random(1);
  uint64_t now = told.ticks.per_ms();
  for (uint64_t i = 1; i < 1000; ++i) {
    now += random() % 2000;
    RingWriter& ring = i % 3 == 0 ? one : two;
    ring.alloc(i * 16, now, 8, {1});
    now += random() % 2000;
    if (i % 2 == 0) ring.leave(i * 16, now);
  }
  const EventBatch batch = told.read();
  CHECK(batch.events.size() > 1000);
  for (size_t i = 1; i < batch.events.size(); ++i)
    CHECK(batch.events[i - 1].time_ns <= batch.events[i].time_ns);
}

// Whatever threads do, numbers say the same as the live table.
TEST_CASE("the events of random records lead to the live table") {
  std::mt19937 random(7);
  for (size_t round = 0; round < scaled(200); ++round) {
    Told told;
    RingWriter one(told.exchange, 0, 0);
    RingWriter two(told.exchange, 1, 0);
    for (uint64_t time = 1; time < 200; ++time) {
      RingWriter& ring = random() % 2 == 0 ? one : two;
      const uint64_t address = 16 + random() % 8 * 16;
      switch (random() % 6) {
        case 0:
        case 1:
          ring.alloc(address, time * 10'000, time, {1, random() % 4});
          break;
        case 2:
          ring.alloc(address, time * 10'000, time, {2}, fn_realloc);
          break;
        case 3:
          ring.free(address, time * 10'000);
          break;
        case 4:
          ring.leave(address, time * 10'000);
          break;
        default:
          ring.restore(address, time * 10'000);
      }
    }
    one.end();
    two.end();
    const EventBatch batch = told.read(true);
    std::map<BlockNumber, uint64_t> live;
    for (const Event& event : batch.events) {
      if (event.kind == EventKind::allocation || event.kind == EventKind::move) {
        CHECK(live.emplace(event.block, event.address).second);
        if (event.kind == EventKind::move) CHECK(live.erase(event.moved) == 1);
      } else if (event.kind == EventKind::free) {
        CHECK(live.erase(event.block) == 1);
      } else if (event.kind == EventKind::restore) {
        CHECK(live.emplace(event.block, 0).second);
      }
    }
    CHECK(live.size() == told.blocks.table().size());
    CHECK(batch.checkpoint->blocks.size() == live.size());
    for (const LiveBlock& block : batch.checkpoint->blocks) CHECK(live.contains(block.block));
  }
}
