// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/verdicts/ledger.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <functional>
#include <span>

#include "core/error.h"
#include "tests/collapse/verdicts/simulation.h"

using namespace memflame;

namespace {

constexpr TrackId first{1}, second{2};

// Takes a look each second.
void watch(Ledger& ledger, Simulation& simulation, double from, double until,
           const std::function<void(double)>& second_of_work, double every = 1) {
  for (double now = from; now < until; now += every) {
    second_of_work(now);
    ledger.add(simulation.look(now + every), simulation.tracks());
  }
}

Verdict verdict_on(const Ledger& ledger, TrackId track) {
  const auto verdict = ledger.verdict(track, {});
  REQUIRE(verdict);
  INFO(in_words(*verdict));
  return *verdict;
}

VerdictKind kind_of(const Ledger& ledger, TrackId track) { return verdict_on(ledger, track).kind; }

}  // namespace

TEST_CASE("columns that do not follow blocks have no verdicts") {
  const std::vector<ValueType> types{{"live"}, {"total"}};
  CHECK_THROWS_AS(Ledger{types}, Error);
}

TEST_CASE("all allocations are the sum over the tracks, as of the latest look") {
  const std::vector<Track> tracks{Track{}, Track{}, Track{}};
  Ledger ledger(block_types());
  Look look;
  look.time_ns = 10;
  look.rows = {{first, {100, 1, 500, 5}}, {second, {0, 0, 80, 8}}};
  ledger.add(look, tracks);
  CHECK(ledger.total_blocks() == 13);
  look.time_ns = 20;
  look.rows = {{first, {100, 1, 700, 7}}};
  ledger.add(look, tracks);
  CHECK(ledger.total_blocks() == 15);
}

TEST_CASE("what ended processes left goes to a space that stands for them, once") {
  const std::vector<Track> tracks{Track{}, Track{{}, SpaceId{1}, ""}, Track{{}, SpaceId{2}, ""}};
  Ledger ledger(block_types());
  Look look;
  look.time_ns = 10;
  look.rows = {{first, {100, 1, 500, 5}}};
  look.ended = {SpaceId{1}};
  ledger.add(look, tracks);
  CHECK(verdict_on(ledger, first).live_bytes == 100);
  look.time_ns = 20;
  look.rows = {{first, {0, 0, 0, 0}}, {second, {100, 1, 500, 5}}};
  look.ended = {SpaceId{2}};
  ledger.add(look, tracks);
  CHECK_FALSE(ledger.verdict(first, {}));
  CHECK(verdict_on(ledger, second).live_blocks == 1);
  CHECK(ledger.total_blocks() == 5);
  // A second process leaves more there.
  look.time_ns = 30;
  look.rows = {{second, {300, 2, 800, 8}}};
  look.ended = {};
  ledger.add(look, tracks);
  CHECK(verdict_on(ledger, second).live_bytes == 300);
  CHECK(verdict_on(ledger, second).ended);
  CHECK(ledger.total_blocks() == 8);
}

TEST_CASE("a look that does not fit is an error") {
  const std::vector<Track> tracks{Track{}, Track{}};
  Ledger ledger(block_types());
  Look look;
  look.time_ns = 10;
  look.rows = {{TrackId{2}, {1, 1, 1, 1}}};
  CHECK_THROWS_AS(ledger.add(look, tracks), Error);
  look.rows = {{TrackId{1}, {1, 1, 1}}};
  CHECK_THROWS_AS(ledger.add(look, tracks), Error);
  look.rows = {{TrackId{1}, {1, 1, 1, 1}}};
  look.stretches = {0, 20};
  CHECK_THROWS_AS(ledger.add(look, tracks), Error);
  look.stretches = {0};
  look.cells = {{TrackId{1}, 1, 1, 1, 1}};
  CHECK_THROWS_AS(ledger.add(look, tracks), Error);
  look.cells = {{TrackId{5}, 0, 1, 1, 1}};
  CHECK_THROWS_AS(ledger.add(look, tracks), Error);
  look.cells.clear();
  ledger.add(look, tracks);
  look.time_ns = 5;
  CHECK_THROWS_AS(ledger.add(look, tracks), Error);
}

TEST_CASE("a track that never had a block has no verdict") {
  Simulation simulation(1);
  simulation.add_track();
  Ledger ledger(block_types());
  ledger.add(simulation.look(1), simulation.tracks());
  CHECK(!ledger.verdict(first, {}));
  CHECK(!ledger.verdict(TrackId{7}, {}));
  CHECK(!ledger.verdict(std::vector<TrackId>{}, {}));
  CHECK(ledger.verdicts({}).empty());
}

TEST_CASE("blocks of the start are kept, however few") {
  for (const int blocks : {1, 100}) {
    Simulation simulation(1);
    simulation.add_track();
    Ledger ledger(block_types());
    for (int i = 0; i < blocks; ++i) simulation.allocate(0.1, first, 73728, Simulation::forever);
    watch(ledger, simulation, 0, 60, [](double) {});
    const Verdict verdict = verdict_on(ledger, first);
    CHECK(verdict.kind == VerdictKind::kept);
    CHECK(verdict.since_s == doctest::Approx(59));
    CHECK(verdict.survivors == blocks);
    CHECK(verdict.maximum_at_s == doctest::Approx(1));
  }
}

TEST_CASE("one stray late death does not hide 10,000 survivors") {
  Simulation simulation(2);
  simulation.add_track();
  Ledger ledger(block_types());
  simulation.allocate(0.001, first, 100, 55);
  watch(ledger, simulation, 0, 60, [&](double now) {
    for (int i = 0; i < 400; ++i)
      simulation.allocate(now + 0.01 + i / 500.0, first, 100,
                          i % 2 == 0 ? Simulation::forever : 0.3);
  });
  const Verdict verdict = verdict_on(ledger, first);
  CHECK(verdict.kind == VerdictKind::leak);
  CHECK(verdict.others_live_at_most_s <= 2);
  CHECK(verdict.leaked_share == doctest::Approx(0.5).epsilon(0.01));
  CHECK(verdict.rate.value == doctest::Approx(20000).epsilon(0.02));
}

TEST_CASE("a stack that appears late is watched from then on") {
  Simulation simulation(3);
  simulation.add_track();
  simulation.add_track();
  Ledger ledger(block_types());
  const auto leak = [&](double now) {
    simulation.allocate(now, first, 100, 0.1);
    if (now < 100) return;
    for (int i = 0; i < 50; ++i)
      simulation.allocate(now + 0.01 + i / 100.0, second, 1000, Simulation::forever);
  };
  watch(ledger, simulation, 0, 120, leak);
  const Verdict early = verdict_on(ledger, second);
  CHECK(early.kind == VerdictKind::cannot_tell);
  CHECK(early.wait_s == doctest::Approx(25));
  CHECK(early.watched_s == doctest::Approx(20));
  watch(ledger, simulation, 120, 150, leak);
  CHECK(kind_of(ledger, second) == VerdictKind::leak);
  CHECK(kind_of(ledger, first) == VerdictKind::comes_back);
  CHECK(ledger.verdicts({}).front().track == second);
}

TEST_CASE("stretches that became one since a stack was looked at: at once as one after another") {
  TrackRecord record;
  for (uint64_t begin = 0; begin < 50; begin += 10) {
    Births& births = record.births_of({.stretch_ns = begin, .from_ns = begin, .to_ns = begin + 10});
    births.blocks = static_cast<int64_t>(begin + 1);
    births.live_blocks = begin == 20 ? 3 : 0;
  }
  TrackRecord slow = record;
  const std::vector<std::vector<uint64_t>> surveys{
      {0, 20, 30, 40}, {0, 20, 40, 50}, {0, 40, 50, 60}};
  for (const std::vector<uint64_t>& begins : surveys) slow.join(begins);
  record.join(surveys.back());
  for (const TrackRecord& one : {record, slow}) {
    REQUIRE(one.births.size() == 2);
    CHECK(one.births[0].blocks == 1 + 11 + 21 + 31);
    CHECK(one.births[0].live_blocks == 3);
    CHECK(one.births[0].from_ns == 20);  // the dead ones do not widen it
    CHECK(one.births[0].to_ns == 30);
    CHECK(one.births[1].stretch_ns == 40);
    CHECK(one.births[1].blocks == 41);
  }
}

TEST_CASE("blocks that are counted a moment late change nothing") {
  Simulation simulation(4);
  simulation.add_track();
  simulation.add_track();
  Ledger ledger(block_types());
  for (int second_no = 0; second_no < 60; ++second_no) {
    for (int i = 0; i < 100; ++i) {
      const double now = second_no + i / 100.0;
      simulation.allocate(now, first, 100, Simulation::forever);
      simulation.allocate(now, second, 100, 0.2);
    }
    Look look = simulation.look(second_no + 1);
    // 5 blocks of each second are missing in the sums, but not in the table.
    const std::span<int64_t> values = look.rows.values();
    for (size_t i = 0; i < values.size(); ++i) values[i] -= i % 2 == 0 ? 500 : 5;
    ledger.add(look, simulation.tracks());
  }
  const Verdict leak = verdict_on(ledger, first);
  CHECK(leak.kind == VerdictKind::leak);
  CHECK(leak.leaked_share > 0.98);
  CHECK(kind_of(ledger, second) == VerdictKind::comes_back);
}

TEST_CASE("what an ended process left has leaked, and clearing its table changes nothing") {
  Simulation simulation(5);
  simulation.add_track(SpaceId{1});
  simulation.add_track(SpaceId{2});
  Ledger ledger(block_types());
  watch(ledger, simulation, 0, 5, [&](double now) {
    simulation.allocate(now, first, 1000, Simulation::forever);
    simulation.allocate(now, second, 1000, Simulation::forever);
  });
  Look end = simulation.look(6, {SpaceId{1}});
  std::erase_if(end.cells, [](const Look::Cell& cell) { return cell.track == first; });
  ledger.add(end, simulation.tracks());
  Look after = simulation.look(7);
  std::erase_if(after.cells, [](const Look::Cell& cell) { return cell.track == first; });
  after.rows.add(first, std::array<int64_t, 4>{0, 0, 5000, 5});
  ledger.add(after, simulation.tracks());
  const Verdict left = verdict_on(ledger, first);
  CHECK(left.kind == VerdictKind::leak);
  CHECK(left.ended);
  CHECK(left.survivors == 5);
  CHECK(left.survivor_bytes == 5000);
  CHECK(left.leaked_share == 1);
  CHECK(left.oldest_s == doctest::Approx(6));
  CHECK(kind_of(ledger, second) == VerdictKind::cannot_tell);

  const std::vector<TrackId> both{second, first};
  const auto sum = ledger.verdict(both, {});
  REQUIRE(sum);
  CHECK(sum->kind == VerdictKind::leak);
  CHECK(sum->track == second);
  CHECK(sum->live_bytes == 10000);
}

TEST_CASE("several tracks are judged as one stack") {
  Simulation simulation(6);
  for (uint32_t i = 1; i <= 5; ++i) simulation.add_track(SpaceId{i});
  Ledger ledger(block_types());
  // Each has fewer survivors than a verdict needs.
  watch(ledger, simulation, 0, 60, [&](double now) {
    for (uint32_t i = 1; i <= 5; ++i) {
      const bool leaks = static_cast<int>(now) % 10 == static_cast<int>(2 * i - 1);
      simulation.allocate(now + i / 10.0, TrackId{i}, 2000, leaks ? Simulation::forever : 0.1);
    }
  });
  CHECK(kind_of(ledger, first) != VerdictKind::leak);
  const std::vector<TrackId> all{TrackId{1}, TrackId{2}, TrackId{3}, TrackId{4}, TrackId{5}};
  const auto verdict = ledger.verdict(all, {});
  REQUIRE(verdict);
  CHECK(verdict->kind == VerdictKind::leak);
  CHECK(verdict->leaked_share == doctest::Approx(0.1).epsilon(0.2));
  CHECK(verdict->total_blocks == 300);
  CHECK(verdict->live_blocks == 30);
}

TEST_CASE("a leak that comes in bursts is one") {
  Simulation simulation(7);
  simulation.add_track();
  Ledger ledger(block_types());
  watch(ledger, simulation, 0, 64, [&](double now) {
    simulation.allocate(now, first, 100, 0.1);
    if (static_cast<int>(now) % 5 != 0) return;
    for (int i = 0; i < 100; ++i)
      simulation.allocate(now + i / 1000.0, first, 100, Simulation::forever);
  });
  CHECK(kind_of(ledger, first) == VerdictKind::leak);
}

TEST_CASE("a cache that evicts at random is full, and no leak while it fills") {
  Simulation simulation(8);
  simulation.add_track();
  Ledger ledger(block_types());
  std::vector<size_t> entries;
  const auto work = [&](double now) {
    for (int i = 0; i < 50; ++i) {
      const double at = now + i / 50.0;
      if (entries.size() < 1000) {
        entries.push_back(simulation.allocate(at, first, 500));
        continue;
      }
      size_t& entry = entries[static_cast<size_t>(simulation.uniform() * 1000)];
      simulation.free(at, entry);
      entry = simulation.allocate(at, first, 500);
    }
  };
  watch(ledger, simulation, 0, 19, work);
  CHECK(kind_of(ledger, first) == VerdictKind::cannot_tell);
  for (int now = 19; now < 240; ++now) {
    watch(ledger, simulation, now, now + 1, work);
    CAPTURE(now);
    CHECK(kind_of(ledger, first) != VerdictKind::leak);
  }
  const Verdict verdict = verdict_on(ledger, first);
  CHECK(verdict.kind == VerdictKind::cache);
  CHECK(verdict.since_s == doctest::Approx(220).epsilon(0.03));
}

TEST_CASE("a day of watching: a slow leak, a cache and a steady coming and going") {
  Simulation simulation(9);
  for (int i = 0; i < 3; ++i) simulation.add_track();
  Ledger ledger(block_types());
  std::vector<size_t> entries;
  size_t turn = 0;
  watch(
      ledger, simulation, 0, 86400,
      [&](double now) {
        simulation.allocate(now, first, 1000, Simulation::forever);
        simulation.allocate(now + 1, first, 1000, simulation.exponential(30));
        simulation.allocate(now + 2, second, 1000, simulation.exponential(100));
        if (entries.size() < 50) {
          entries.push_back(simulation.allocate(now + 3, TrackId{3}, 1000));
          return;
        }
        simulation.free(now + 3, entries[turn]);
        entries[turn] = simulation.allocate(now + 3, TrackId{3}, 1000);
        turn = (turn + 1) % 50;
      },
      120);
  const Verdict leak = verdict_on(ledger, first);
  CHECK(leak.kind == VerdictKind::leak);
  CHECK(leak.growth == GrowthClass::linear);
  CHECK(leak.rate.value == doctest::Approx(1000 / 120.0).epsilon(0.1));
  CHECK(kind_of(ledger, second) == VerdictKind::comes_back);
  CHECK(kind_of(ledger, TrackId{3}) == VerdictKind::cache);
}

TEST_CASE("warm-up is not judged") {
  Simulation simulation(10);
  simulation.add_track();
  Ledger ledger(block_types());
  watch(ledger, simulation, 0, 60, [&](double now) {
    for (int i = 0; i < 10; ++i)
      simulation.allocate(now + i / 10.0, first, 1000, now < 20 ? Simulation::forever : 0.01);
  });
  CHECK(ledger.verdict(first, {})->kind == VerdictKind::kept);
  VerdictOptions options;
  options.warmup_ns = 20'000'000'000;
  CHECK(ledger.verdict(first, options)->kind == VerdictKind::comes_back);
}

TEST_CASE("a last look without a survey still tells what was freed at the end") {
  Simulation simulation(11);
  simulation.add_track();
  Ledger ledger(block_types());
  watch(ledger, simulation, 0, 60, [&](double now) {
    for (int i = 0; i < 10; ++i)
      simulation.allocate(now + i / 10.0, first, 1000, 60.5 - now - i / 10.0);
  });
  ledger.add(simulation.look(61, {}, false), simulation.tracks());
  ledger.end(61'000'000'000);
  const Verdict verdict = verdict_on(ledger, first);
  CHECK(verdict.kind == VerdictKind::freed_at_end);
  CHECK(verdict.maximum_bytes == 600000);
  CHECK(verdict.maximum_at_s == doctest::Approx(60));
}

TEST_CASE("the noise floor can be raised") {
  Simulation simulation(12);
  simulation.add_track();
  Ledger ledger(block_types());
  watch(ledger, simulation, 0, 60,
        [&](double now) { simulation.allocate(now, first, 1000, Simulation::forever); });
  CHECK(kind_of(ledger, first) == VerdictKind::leak);
  VerdictOptions options;
  options.min_blocks = 100;
  CHECK(ledger.verdict(first, options)->kind != VerdictKind::leak);
  options = {};
  options.min_bytes = 100000;
  CHECK(ledger.verdict(first, options)->kind != VerdictKind::leak);
  CHECK(ledger.verdict(first, options)->growth == GrowthClass::constant);
}

TEST_CASE("a cache that has freed nothing does not leak while its growth slows down") {
  Simulation simulation(14);
  simulation.add_track();
  Ledger ledger(block_types());
  // Two thirds of 60,000 entries after 100 s: an entry that is there already is not made again.
  for (int now = 0; now < 100; ++now) {
    for (int i = 0; i < 660; ++i) {
      const double filled = 1 - std::exp(-(now + i / 660.0) / 90);
      if (simulation.uniform() >= filled)
        simulation.allocate(now + i / 660.0, first, 500, Simulation::forever);
    }
    ledger.add(simulation.look(now + 1), simulation.tracks());
    CAPTURE(now);
    CHECK(kind_of(ledger, first) == VerdictKind::cannot_tell);
  }
  const Verdict verdict = verdict_on(ledger, first);
  CHECK(verdict.growth == GrowthClass::logarithmic);
  CHECK(verdict.live_growth.low > 0);
}

TEST_CASE("looks without surveys never call a stack a leak before its process ends") {
  Simulation simulation(13);
  simulation.add_track();
  Ledger ledger(block_types());
  for (int now = 0; now < 100; ++now) {
    simulation.allocate(now, first, 1000, Simulation::forever);
    ledger.add(simulation.look(now + 1, {}, false), simulation.tracks());
  }
  CHECK(kind_of(ledger, first) == VerdictKind::cannot_tell);
  ledger.add(simulation.look(101, {SpaceId{1}}, false), simulation.tracks());
  CHECK(kind_of(ledger, first) == VerdictKind::leak);
}
