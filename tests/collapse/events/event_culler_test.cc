// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/events/event_culler.h"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

#include "collapse/events/block_fold.h"
#include "tests/collapse/events/made_events.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr uint64_t ms = 1'000'000;
constexpr uint64_t below = 10 * ms;
constexpr ThreadId one{1}, two{2};
constexpr RawStackId near{1}, far{2};

Event allocation(uint64_t time, uint64_t number, RawStackId stack = near, ThreadId thread = one) {
  return {.kind = EventKind::allocation,
          .time_ns = time * ms,
          .thread = thread,
          .space = {},
          .block = BlockNumber{number},
          .stack = stack,
          .size = 100 + number};
}
Event move(uint64_t time, uint64_t from, uint64_t to) {
  Event event = allocation(time, to, far);
  event.kind = EventKind::move;
  event.moved = BlockNumber{from};
  return event;
}
Event ending(EventKind kind, uint64_t time, uint64_t number, ThreadId thread = one) {
  return {.kind = kind, .time_ns = time * ms, .thread = thread, .block = BlockNumber{number}};
}
Event freeing(uint64_t time, uint64_t number, ThreadId thread = one) {
  return ending(EventKind::free, time, number, thread);
}

std::vector<Event> culled_from(EventCuller& culler, const std::vector<Event>& events) {
  culler.add(events);
  return culler.take(true);
}

using Sums = std::map<uint32_t, std::pair<uint64_t, uint64_t>>;
Sums sums(const CulledBlocks& culled) {
  Sums all;
  for (const CulledStack& sum : culled.stacks) all[sum.stack.index] = {sum.blocks, sum.bytes};
  return all;
}

}  // namespace

TEST_CASE("what lives shorter is left out, and counted by stack") {
  EventCuller culler(below);
  const std::vector<Event> events{
      allocation(0, 1), allocation(1, 2, far), allocation(2, 3),
      freeing(9, 2),    freeing(10, 1),  // lived exactly that long
      freeing(11, 3),
  };
  const std::vector<Event> left = culled_from(culler, events);
  CHECK(left == std::vector<Event>{events[0], events[4]});
  CHECK(sums(culler.take_culled()) == Sums{{1, {1, 103}}, {2, {1, 102}}});
  CHECK(culler.take_culled().stacks.empty());
}

TEST_CASE("a chain is one life") {
  EventCuller culler(below);
  SUBCASE("it stays as a whole") {
    const std::vector<Event> events{allocation(0, 1), move(2, 1, 2), move(11, 2, 3),
                                    freeing(12, 3)};
    CHECK(culled_from(culler, events) == events);
    CHECK(culler.take_culled().stacks.empty());
  }
  SUBCASE("it goes as a whole") {
    CHECK(culled_from(culler, {allocation(0, 1), move(2, 1, 2), freeing(9, 2)}).empty());
    CHECK(sums(culler.take_culled()) == Sums{{1, {1, 101}}, {2, {1, 102}}});
  }
  SUBCASE("it is held until it is old enough") {
    culler.add(std::vector<Event>{allocation(0, 1), allocation(5, 2)});
    CHECK(culler.take().empty());
    culler.add(std::vector<Event>{move(10, 1, 3)});
    CHECK(culler.take().size() == 1);
    culler.add(std::vector<Event>{freeing(11, 3), freeing(12, 2), allocation(40, 9)});
    const std::vector<Event> left = culler.take();
    REQUIRE(left.size() == 2);
    CHECK(left[0].kind == EventKind::move);
    CHECK(left[1].block == BlockNumber{3});
  }
}

TEST_CASE("what lives at a checkpoint or at the end remains, also if it is freed soon after") {
  EventCuller culler(below);
  CHECK(culled_from(culler, {allocation(0, 1), allocation(1, 2), freeing(2, 1)}).size() == 1);
  CHECK(culled_from(culler, {freeing(3, 2)}).size() == 1);
  CHECK(sums(culler.take_culled()) == Sums{{1, {1, 101}}});
}

TEST_CASE("a free that is taken back ends nothing") {
  EventCuller culler(below);
  const std::vector<Event> events{allocation(0, 1), freeing(2, 1), ending(EventKind::restore, 3, 1),
                                  freeing(20, 1)};
  SUBCASE("before it was decided") { CHECK(culled_from(culler, events) == events); }
  SUBCASE("afterwards the block begins anew") {
    culler.add(std::vector<Event>{events[0], events[1], allocation(15, 7, near, two)});
    CHECK(culler.take().empty());
    culler.add(std::vector<Event>{ending(EventKind::restore, 16, 1), freeing(20, 1)});
    const std::vector<Event> left = culler.take(true);
    REQUIRE(left.size() == 3);
    CHECK(left[1].kind == EventKind::allocation);
    CHECK(left[1].block == BlockNumber{1});
    CHECK(left[1].time_ns == 16 * ms);
    CHECK(left[2].kind == EventKind::free);
    CHECK(sums(culler.take_culled()) == Sums{{1, {0, 0}}});
  }
}

TEST_CASE("no more events are held than there is room for") {
  EventCuller culler(below, 2);
  culler.add(std::vector<Event>{allocation(0, 1), allocation(1, 2), allocation(2, 3), freeing(3, 1),
                                freeing(4, 3)});
  const std::vector<Event> left = culler.take();
  CHECK(left.size() == 1);  // number 2; the others are known to be short
  CHECK(sums(culler.take_culled())[1].first == 2);
}

TEST_CASE("chunks of culled blocks add up, and those that cannot be are refused") {
  CulledBlocks sum;
  const CulledBlocks first{.below_ns = below, .stacks = {{near, 1, 10}, {far, 2, 20}}};
  const std::string bytes = encode(first);
  for (int i = 0; i < 2; ++i) {
    ByteReader in(bytes);
    decode_culled(in, 4, sum);
  }
  CHECK(sum.below_ns == below);
  REQUIRE(sum.stacks.size() == 4);
  CHECK(sum.stacks[2] == CulledStack{far, 4, 40});
  ByteReader few(bytes);
  CHECK_THROWS_AS(decode_culled(few, 2, sum), DamagedChunk);
  for (size_t size = 0; size < bytes.size(); ++size) {
    ByteReader cut(std::string_view(bytes).substr(0, size));
    CHECK_THROWS_AS(decode_culled(cut, 4, sum), DamagedChunk);
  }
  const std::string most = encode({.below_ns = 1, .stacks = {{near, UINT64_MAX, 1}}});
  ByteReader huge(most);
  decode_culled(huge, 4, sum);
  CHECK(sum.stacks[1] == CulledStack{near, UINT64_MAX, 21});
}

// Whatever happens: blocks are left out only if their chain lived shorter, all that remains is as
// before, and the sums are those of what is missing.
TEST_CASE("culling changes nothing but that short chains are missing") {
  std::mt19937 random(3);
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    std::vector<Event> events;
    std::vector<uint64_t> live;
    uint64_t numbers = 0;
    for (uint64_t time = 0; time < 300; ++time) {
      const unsigned kind = random() % 4;
      if (live.empty() || kind == 0) {
        events.push_back(allocation(time, ++numbers, random() % 2 == 0 ? near : far));
        live.push_back(numbers);
        continue;
      }
      // The younger ones more often.
      const size_t at = live.size() - 1 - random() % std::min<size_t>(live.size(), 4);
      if (kind == 1) {
        events.push_back(move(time, live[at], ++numbers));
        live[at] = numbers;
      } else {
        events.push_back(freeing(time, live[at], random() % 2 == 0 ? one : two));
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
    const auto blocks_of = [&](const std::vector<Event>& all) {
      std::map<uint64_t, std::pair<Block, Chain>> blocks;
      static const History tables = history_of_events();
      BlockFold fold(tables, [&](const Block& block, const Chain& chain) {
        blocks.emplace(static_cast<uint64_t>(block.number), std::pair(block, chain));
      });
      fold.events(all);
      fold.finish(301 * ms);
      CHECK(fold.counts().frees_of_unknown == 0);
      CHECK(fold.counts().contradictions == 0);
      return blocks;
    };
    EventCuller culler(below);
    std::vector<Event> left;
    for (size_t i = 0; i < events.size(); i += 7) {
      culler.add(std::span(events).subspan(i, std::min<size_t>(7, events.size() - i)));
      for (const Event& event : culler.take()) left.push_back(event);
    }
    for (const Event& event : culler.take(true)) left.push_back(event);
    const auto all = blocks_of(events);
    auto some = blocks_of(left);
    Sums missing;
    for (const auto& [number, block] : all) {
      const bool is_short = !block.second.leaked && block.second.lifetime_ns() < below;
      CHECK(some.contains(number) != is_short);
      if (!is_short) {
        Block now = some[number].first;
        now.transient = block.first.transient;  // is not known any more
        CHECK(now == block.first);
        CHECK(some[number].second == block.second);
        continue;
      }
      ++missing[block.first.stack.index].first;
      missing[block.first.stack.index].second += block.first.size;
    }
    CHECK(sums(culler.take_culled()) == missing);
  }
}
