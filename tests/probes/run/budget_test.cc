// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/budget.h"

#include <doctest/doctest.h>

#include "core/error.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("the cost is in percent of what the target would have used by itself") {
  CHECK(overhead_percent(0, 1) == 0);
  CHECK(overhead_percent(0.5, 1) == doctest::Approx(100));
  CHECK(overhead_percent(0.1, 1.1) == doctest::Approx(10));
  // Clock ticks are coarse: a cost above the time itself is a large number, not a negative one.
  CHECK(overhead_percent(2, 1) == doctest::Approx(20000));
  CHECK(overhead_percent(-1, 1) == 0);
}

TEST_CASE("over the budget the distance grows at once") {
  const auto next = [](uint64_t distance, double overhead) {
    return next_distance({.distance = distance, .overhead = overhead, .kept = 0.5}, 10);
  };
  CHECK(next(0, 11) == first_distance);
  CHECK(next(4096, 11) > 4096);
  CHECK(next(4096, 20) == 4096 * 4);  // three times as far, up to a power of two
  CHECK(next(4096, 1e9) == 4096 * 64);
  CHECK(next(largest_distance, 50) == largest_distance);
  CHECK(next(largest_distance / 2, 50) == largest_distance);
}

TEST_CASE("between well under and over the budget nothing changes") {
  for (const double overhead : {4.0, 7.0, 10.0})
    for (const uint64_t distance : {uint64_t{0}, uint64_t{4096}, largest_distance})
      CHECK(next_distance({.distance = distance, .overhead = overhead, .kept = 0.5}, 10) ==
            distance);
}

TEST_CASE("without room for live samples the distance grows, whatever the cost is") {
  const auto next = [](uint64_t distance, Room room) {
    return next_distance({.distance = distance, .overhead = 0.1, .kept = 1, .room = room}, 10);
  };
  CHECK(next(0, Room::none) == first_distance);
  CHECK(next(4096, Room::none) == 8192);
  CHECK(next(largest_distance, Room::none) == largest_distance);
  CHECK(next(8192, Room::enough) == 8192);
  CHECK(next(8192, Room::plenty) == 4096);
  CHECK(room_for(500, 0, 1000) == Room::plenty);
  CHECK(room_for(501, 0, 1000) == Room::enough);
  CHECK(room_for(1001, 0, 1000) == Room::none);
  CHECK(room_for(1001, 1000, 1000) == Room::enough);  // not more and more
}

TEST_CASE("well under the budget the distance shrinks, until all is counted") {
  uint64_t distance = largest_distance;
  int steps = 0;
  while (distance != 0 && steps < 100) {
    const uint64_t next = next_distance({.distance = distance, .overhead = 1, .kept = 0.5}, 10);
    CHECK(next <= distance / 2);
    distance = next;
    ++steps;
  }
  CHECK(distance == 0);
  CHECK(next_distance({.distance = 0, .overhead = 1, .kept = 1}, 10) == 0);
}

TEST_CASE("where next to nothing is kept, sampling less does not help") {
  const Situation probes_alone{.distance = 1 << 20, .overhead = 300, .kept = 0.001};
  CHECK(is_beyond_control(probes_alone, 10));
  CHECK(next_distance(probes_alone, 10) == probes_alone.distance);
  const Situation samples{.distance = 1 << 20, .overhead = 300, .kept = 0.1};
  CHECK_FALSE(is_beyond_control(samples, 10));
  CHECK(next_distance(samples, 10) > samples.distance);
  CHECK_FALSE(is_beyond_control({.distance = 1 << 20, .overhead = 9, .kept = 0.001}, 10));
  // Without sampling every block is kept, unless its size leaves it out.
  CHECK_FALSE(is_beyond_control({.distance = 0, .overhead = 300, .kept = 0.001}, 10));
  CHECK(is_beyond_control({.distance = largest_distance, .overhead = 11, .kept = 1}, 10));
}

TEST_CASE("where the traps alone cost too much, no rate is tried") {
  CHECK(is_beyond_control({.distance = 0, .overhead = 40, .probes = 30, .kept = 1}, 10));
  CHECK(next_distance({.distance = 0, .overhead = 40, .probes = 30, .kept = 1}, 10) == 0);
  CHECK_FALSE(is_beyond_control({.distance = 0, .overhead = 40, .probes = 9, .kept = 1}, 10));
}

namespace {

constexpr Situation dear{.distance = 0, .overhead = 40, .probes = 30, .kept = 1};

}  // namespace

TEST_CASE("three looks in a row beyond control end the run") {
  Budget budget(10, [] { return TrapPrices{.entry = 1000}; });
  budget.judge(dear, 1);
  budget.judge(dear, 2);
  budget.judge({.distance = 0, .overhead = 9, .probes = 8, .kept = 1}, 3);
  budget.judge(dear, 4);
  budget.judge(dear, 5);
  CHECK_FALSE(budget.is_over());
  budget.judge(dear, 6);
  CHECK(budget.is_over());
  CHECK(budget.overhead().ended_after == 6);
  CHECK(budget.distance() == 0);
  CHECK(budget.in_words().find("measuring ended after 6.0 s") != std::string::npos);
}

TEST_CASE("prices of a slow moment are measured again before they end a run") {
  double entry = 4000;
  Budget budget(10, [&entry] { return TrapPrices{.entry = entry}; });
  budget.judge(dear, 1);
  budget.judge(dear, 2);
  entry = 1000;
  budget.judge(dear, 3);
  CHECK_FALSE(budget.is_over());
  CHECK(budget.overhead().prices.entry == 1000);
  CHECK_FALSE(budget.overhead().beyond_control);
  // If it is as expensive at the measured price, the run still ends.
  for (const double seconds : {4.0, 5.0, 6.0}) budget.judge(dear, seconds);
  CHECK(budget.is_over());
}

TEST_CASE("where prices cannot be measured again, those that are known hold") {
  bool fails = false;
  Budget budget(10, [&fails]() -> TrapPrices {
    if (fails) throw Error("no");
    return {.entry = 4000};
  });
  fails = true;
  for (const double seconds : {1.0, 2.0, 3.0}) budget.judge(dear, seconds);
  CHECK(budget.is_over());
  CHECK_THROWS_AS(Budget(10, []() -> TrapPrices { throw Error("no"); }), Error);
}

TEST_CASE("a collector that always samples begins with its distance and never keeps all") {
  const Rates rates{.start = 1 << 19, .unavoidable = "the hooks alone cost"};
  Budget budget(10, rates);
  CHECK(budget.distance() == 1 << 19);
  for (int i = 1; i < 40; ++i) budget.judge({.distance = budget.distance(), .overhead = 1}, i);
  CHECK(budget.distance() == least_distance);
  budget.judge({.distance = budget.distance(), .overhead = 20}, 40);
  CHECK(budget.distance() == 4 * least_distance);
  const std::string words = budget.in_words();
  CHECK(words.find("1 sample per 512.0 KiB at first, 1 sample per 256.0 KiB from 1.0 s on") !=
        std::string::npos);
  CHECK(words.find("kept were all") == std::string::npos);
  for (int i = 41; i < 44; ++i)
    budget.judge({.distance = budget.distance(), .overhead = 20, .probes = 15}, i);
  CHECK(budget.is_over());
  CHECK(budget.in_words().find("the hooks alone cost more than that (20 % at the end)") !=
        std::string::npos);
}

TEST_CASE("where samples must not become more, a low cost changes nothing") {
  const auto next = [](double overhead, Room room) {
    return next_distance({.distance = 4096, .overhead = overhead, .room = room}, 10);
  };
  CHECK(next(1, Room::plenty) == 2048);
  CHECK(next(1, Room::enough) == 4096);
  CHECK(next(1, Room::none) == 8192);
  CHECK(next(20, Room::enough) == 4096 * 4);
  CHECK(next(20, Room::none) == 4096 * 4);
  CHECK(next_distance({.distance = largest_distance, .overhead = 1, .room = Room::none}, 10) ==
        largest_distance);
}

TEST_CASE("a part of the budget lowers the rate, but does not end the run") {
  Budget budget(10, Rates{.start = 4096});
  budget.set_share(0.25);
  for (int i = 0; i < 10; ++i)
    budget.judge({.distance = budget.distance(), .overhead = 9, .probes = 5, .kept = 0.5}, i);
  CHECK(budget.distance() == 4096);  // what cannot be avoided costs more than the part
  CHECK_FALSE(budget.is_over());
  budget.judge({.distance = 4096, .overhead = 9, .probes = 1, .kept = 0.5}, 10);
  CHECK(budget.distance() > 4096);
  CHECK(budget.overhead().distance == budget.distance());
}

TEST_CASE("of a run of weeks, the first changes are kept and the others counted") {
  Budget budget(10, Rates{.start = 4096});
  for (int i = 0; i < 3000; ++i)
    budget.judge({.distance = budget.distance(), .overhead = i % 2 == 0 ? 11.0 : 1, .kept = 0.5},
                 i);
  CHECK(budget.overhead().changes.size() == 1000);
  CHECK(budget.overhead().later_changes > 500);
}
