// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/events/event_codec.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "core/error.h"
#include "tests/collapse/events/made_events.h"
#include "tests/support/scaled.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr EventLimits any_ids{.threads = UINT32_MAX, .stacks = UINT32_MAX, .spaces = UINT32_MAX};

std::vector<Event> decoded(const std::string& content, const EventLimits& limits = any_ids) {
  static EventDecoder decoder;  // its tables take longer to make than a few events to read
  ByteReader in(content);
  const std::span<const Event> events = decoder.events(in, limits);
  return {events.begin(), events.end()};
}

std::vector<Event> events_of(const MadeUpEvents& made) {
  std::vector<Event> events;
  for (const Item& item : made.items)
    if (const auto* event = std::get_if<Event>(&item)) events.push_back(*event);
  return events;
}

// Numbers of any length.
Event wild_event(std::mt19937_64& random, uint64_t time_ns) {
  const auto number = [&] { return random() >> (random() % 64); };
  const auto id = [&] { return static_cast<uint32_t>(number()) % 0xffff'fffe; };
  Event event{.kind = static_cast<EventKind>(random() % 5),
              .time_ns = time_ns,
              .thread = {},
              .space = {},
              .stack = {}};
  if (event.kind == EventKind::end_of_space) {
    event.space = SpaceId{id()};
    return event;
  }
  event.thread = ThreadId{id()};
  event.block = BlockNumber{number() | 1U};
  if (event.kind != EventKind::restore) event.stack = RawStackId{id()};
  if (event.kind == EventKind::move) event.moved = BlockNumber{number() | 1U};
  if (event.kind == EventKind::free || event.kind == EventKind::restore) return event;
  event.address = number();
  event.size = number();
  event.weight = number();
  event.count = id();
  return event;
}

Event small_allocation(uint64_t i) {
  return {.kind = EventKind::allocation,
          .time_ns = 3'000 * i,
          .thread = ThreadId{1},
          .space = {},
          .block = BlockNumber{i + 1},
          .stack = RawStackId{1},
          .address = 0x1000 + 64 * i,
          .size = 50};
}

}  // namespace

TEST_CASE("events are read as they were written") {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    const std::vector<Event> events = events_of(MadeUpEvents({.seed = seed, .calls = 200}));
    for (const bool nanoseconds : {false, true}) {
      EventEncoder encoder({.nanoseconds = nanoseconds});
      REQUIRE(decoded(encoder.events(events)) == events);
      // Each chunk stands for itself.
      const auto later = std::span(events).subspan(events.size() / 2);
      const std::vector<Event> half = decoded(encoder.events(later));
      REQUIRE(std::equal(half.begin(), half.end(), later.begin(), later.end()));
    }
  }
}

TEST_CASE("any numbers are kept") {
  std::mt19937_64 random(7);
  EventEncoder encoder({.nanoseconds = true});
  for (size_t round = 0; round < scaled(200); ++round) {
    std::vector<Event> events;
    uint64_t time_ns = random() >> (1 + random() % 63);
    for (size_t i = 0; i < 300; ++i)
      events.push_back(wild_event(random, time_ns += random() % 1000));
    REQUIRE(decoded(encoder.events(events)) == events);
  }
}

TEST_CASE("times are rounded down to microseconds, addresses may be left out") {
  std::vector<Event> events = events_of(MadeUpEvents({.seed = 3, .calls = 100}));
  std::vector<Event> expected = events;
  for (Event& event : events) event.time_ns += 999;
  for (Event& event : expected) event.address = 0;
  CHECK(decoded(EventEncoder({.addresses = false}).events(events)) == expected);
}

TEST_CASE("what allocators usually do takes few bytes") {
  std::vector<Event> events;
  for (uint64_t i = 0; i < events_of_a_chunk; ++i) events.push_back(small_allocation(i));
  const std::string content = EventEncoder().events(events);
  std::string packed;
  ChunkPacker().pack({.kind = ChunkKind::events, .content = content}, 0, packed);
  CHECK(packed.size() < events.size() / 4);
  CHECK(decoded(content) == events);
}

TEST_CASE("events out of order, and too many of them, are refused") {
  const std::vector<Event> events{small_allocation(2), small_allocation(1)};
  CHECK_THROWS_WITH_AS(static_cast<void>(EventEncoder().events(events)),
                       "internal: events are not in the order of time", Error);
  ByteWriter many;
  many.number(0);
  many.number(events_of_a_chunk + 1);
  const std::string content = many.take() + std::string(2 * events_of_a_chunk, '\0');
  CHECK_THROWS_WITH_AS(static_cast<void>(decoded(content)), "it has too many events", DamagedChunk);
}

TEST_CASE("ids that do not exist, and times beyond all clocks, are damage") {
  EventEncoder encoder;
  const std::vector<Event> one{small_allocation(0)};
  const std::string content = encoder.events(one);
  CHECK(decoded(content, {.threads = 2, .stacks = 2, .spaces = 1}) == one);
  CHECK_THROWS_AS(static_cast<void>(decoded(content, {.threads = 1, .stacks = 2, .spaces = 1})),
                  DamagedChunk);
  CHECK_THROWS_AS(static_cast<void>(decoded(content, {.threads = 2, .stacks = 1, .spaces = 1})),
                  DamagedChunk);
  const std::vector<Event> end{{.kind = EventKind::end_of_space,
                                .time_ns = 0,
                                .thread = {},
                                .space = SpaceId{3},
                                .stack = {}}};
  CHECK_THROWS_AS(
      static_cast<void>(decoded(encoder.events(end), {.threads = 2, .stacks = 2, .spaces = 3})),
      DamagedChunk);
  ByteWriter late;
  late.number(0);
  late.number(1);
  late.number(UINT64_MAX / 1000);
  CHECK_THROWS_WITH_AS(static_cast<void>(decoded(late.take())), "it has a time that cannot be",
                       DamagedChunk);
}

TEST_CASE("damaged chunks are refused or read, never more") {
  const std::vector<Event> events = events_of(MadeUpEvents({.seed = 5, .calls = 60}));
  const std::string content = EventEncoder().events(events);
  EventDecoder decoder;
  size_t refused = 0;
  const auto try_to_read = [&](const std::string& bytes) {
    try {
      ByteReader in(bytes);
      const size_t events_read =
          decoder.events(in, {.threads = 6, .stacks = 19, .spaces = 4}).size();
      CHECK(events_read <= bytes.size());
    } catch (const DamagedChunk&) {
      ++refused;
    }
  };
  for (size_t i = 0; i < content.size(); ++i) {
    try_to_read(content.substr(0, i));
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string flipped = content;
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << bit));
      try_to_read(flipped);
    }
  }
  try_to_read(content + '\0');
  CHECK(refused > content.size());
}

TEST_CASE("checkpoints and gaps are read as they were written") {
  const MadeUpEvents made({.seed = 11, .calls = 400});
  EventEncoder encoder;
  EventDecoder decoder;
  size_t checkpoints = 0;
  for (const Item& item : made.items) {
    if (const auto* checkpoint = std::get_if<Checkpoint>(&item)) {
      ++checkpoints;
      const std::vector<Chunk> chunks = encoder.checkpoint(checkpoint->time_ns, checkpoint->blocks);
      ByteReader in(chunks.front().content);
      const CheckpointHead head = decode_checkpoint(in);
      CHECK(head.time_ns == checkpoint->time_ns);
      CHECK(head.blocks == checkpoint->blocks.size());
      CHECK(head.chunks == chunks.size() - 1);
      std::vector<LiveBlock> blocks;
      for (const Chunk& chunk : std::span(chunks).subspan(1)) {
        ByteReader part(chunk.content);
        const auto some = decoder.blocks(part, any_ids);
        blocks.insert(blocks.end(), some.begin(), some.end());
      }
      CHECK(blocks == checkpoint->blocks);
    }
  }
  CHECK(checkpoints > 5);
  std::string content;
  const std::vector<EventGap> gaps{{.from_ns = 1000, .until_ns = 1000, .events = 1},
                                   {.from_ns = 2999, .until_ns = 99'000'000'001, .events = 0},
                                   {.from_ns = 7000, .until_ns = EventGap::no_end, .events = 5}};
  for (const EventGap& gap : gaps) content += encoder.gap(gap);
  MemoryBudget budget;
  std::vector<EventGap> read;
  ByteReader in(content);
  decode_gaps(in, budget, read);
  REQUIRE(read.size() == 3);
  CHECK(read[0] == gaps[0]);
  CHECK(read[1] == EventGap{.from_ns = 2000, .until_ns = 99'000'000'000, .events = 0});
  CHECK(read[2] == gaps[2]);
}

TEST_CASE("a large checkpoint is several chunks") {
  std::vector<LiveBlock> blocks;
  for (uint64_t i = 2 * events_of_a_chunk + 1; i > 0; --i)
    blocks.push_back(
        {.block = BlockNumber{i}, .allocated_ns = i * 1000, .thread = {}, .stack = {}});
  const std::vector<Chunk> chunks = EventEncoder().checkpoint(1'000'000'000, blocks);
  CHECK(chunks.size() == 4);
}
