// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/event_log.h"

#include <doctest/doctest.h>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

Event at(uint64_t time_ns) { return {.kind = EventKind::free, .time_ns = time_ns}; }

constexpr uint64_t second = 1'000'000'000;

}  // namespace

TEST_CASE("events that do not fit become a gap until they are taken") {
  EventLog log(0, 2);
  for (uint64_t time = 10; time <= 40; time += 10) log.add(at(time));
  CHECK(log.size() == 2);
  CHECK(log.wants_checkpoint(0, 50, false));
  const EventBatch batch = log.take(50, Checkpoint{});
  CHECK(batch.events.size() == 2);
  CHECK(batch.gaps == std::vector<EventGap>{{.from_ns = 30, .until_ns = 50, .events = 2}});
  CHECK(batch.checkpoint->time_ns == 50);
  CHECK(!log.wants_checkpoint(0, 60, false));
  log.add(at(70));
  const EventBatch next = log.take(80, std::nullopt);
  CHECK(next.events.size() == 1);
  CHECK(next.gaps.empty());
}

TEST_CASE("a checkpoint has no block from after its time") {
  EventLog log(0);
  const EventBatch batch = log.take(
      50, Checkpoint{.time_ns = 50, .blocks = {{.allocated_ns = 40}, {.allocated_ns = 51}}});
  CHECK(batch.checkpoint->blocks[0].allocated_ns == 40);
  CHECK(batch.checkpoint->blocks[1].allocated_ns == 50);
}

TEST_CASE("a log is full when half of its room is taken, unless events are lost anyway") {
  EventLog log(0, 4);
  log.add(at(10));
  CHECK(!log.is_full());
  log.add(at(20));
  CHECK(log.is_full());
  log.open_gap(15);
  CHECK(!log.is_full());
  log.add(at(30));
  const EventBatch batch = log.take(40, Checkpoint{});
  CHECK(batch.events.size() == 2);
  CHECK(batch.gaps == std::vector<EventGap>{{.from_ns = 20, .until_ns = 40, .events = 1}});
}

TEST_CASE("what was lost before waits a second for its checkpoint, or for the end") {
  EventLog log(0);
  log.lose(3, 100);
  log.lose(4, 200);
  log.add(at(300));
  CHECK(!log.wants_checkpoint(0, second, false));
  CHECK(log.wants_checkpoint(0, second, true));
  CHECK(log.take(second, std::nullopt).gaps.empty());
  CHECK(log.wants_checkpoint(0, second + 100, false));
  const EventBatch batch = log.take(second + 100, Checkpoint{});
  CHECK(batch.gaps ==
        std::vector<EventGap>{{.from_ns = 100, .until_ns = second + 100, .events = 7}});
}

TEST_CASE("an event is not earlier than the one before it") {
  EventLog log(0);
  log.add(at(20));
  log.add(at(10));
  CHECK(log.take(15, std::nullopt).events[1].time_ns == 20);
  // Nor than a checkpoint before it.
  log.add(at(25));
  CHECK(log.take(30, Checkpoint{}).events[0].time_ns == 25);
  log.add(at(27));
  CHECK(log.take(40, std::nullopt).events[0].time_ns == 30);
}

TEST_CASE("a file gets checkpoints as it grows, fewer with many live blocks") {
  EventLog log(0, size_t{8} << 20U);
  for (uint64_t i = 0; i < uint64_t{4} << 20U; ++i) log.add(at(i));
  CHECK(log.wants_checkpoint(1000, second, false));
  CHECK(!log.wants_checkpoint(1'000'000, second, false));
}
