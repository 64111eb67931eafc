// SPDX-License-Identifier: BSD-2-Clause
// Verdicts on memory that a garbage collector frees, by what is in use after each collection.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "collapse/verdicts/ledger.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr int64_t block = 16384;

std::vector<ValueType> collected_types(bool sampled) {
  std::vector<ValueType> types{{"live", Unit::bytes},
                               {"live-count", Unit::count},
                               {"total", Unit::bytes},
                               {"total-count", Unit::count}};
  if (sampled) {
    types[1].variance = 4;
    types.push_back({"live-count variance", Unit::variance});
  }
  types.push_back({"collected", Unit::bytes});
  return types;
}

struct Blocks {
  double live = 0, total = 0;
};

// One stack, looked at every second; collections publish its figures every `apart` seconds. Each
// sample stands for `each` blocks.
Verdict watched(int seconds, int apart, const std::function<Blocks(double)>& at, int64_t each = 1,
                const VerdictOptions& options = {}, bool ends = false) {
  const std::vector<Track> tracks{Track{}, Track{RawStackId{1}, SpaceId{1}, ""}};
  Ledger ledger(collected_types(each != 1));
  for (int now = 0; now <= seconds; ++now) {
    const Blocks blocks = at(now - now % apart);
    const int64_t live = int64_t{std::llround(blocks.live / static_cast<double>(each))} * each;
    const int64_t total = std::max(live, int64_t{std::llround(blocks.total)});
    std::vector<int64_t> row{live * block, live, total * block, total};
    if (each != 1) row.push_back(live * (each - 1));
    row.push_back((total - live) * block);
    Look look;
    look.time_ns = static_cast<uint64_t>(now) * 1'000'000'000;
    look.rows.add(TrackId{1}, row);
    if (ends && now == seconds) look.ended = {SpaceId{1}};
    ledger.add(look, tracks);
  }
  const auto verdict = ledger.verdict(TrackId{1}, options);
  REQUIRE(verdict);
  CHECK(verdict->is_collected);
  return *verdict;
}

Blocks growing(double now) { return {1000 + 100 * now, 5000 + 1000 * now}; }

}  // namespace

TEST_CASE("growth through collections is a leak, at its rate") {
  const Verdict verdict = watched(60, 3, growing);
  INFO(in_words(verdict));
  CHECK(verdict.kind == VerdictKind::leak);
  CHECK(verdict.growth == GrowthClass::linear);
  CHECK(verdict.rate.value == doctest::Approx(100 * block).epsilon(0.1));
  CHECK(
      in_words(verdict).starts_with("leak: in use grows by 1.5 MiB/s (1.2–1.8), 89.1 MiB in 60 s"));
}

TEST_CASE("growth is not called a leak before it was seen for long enough, or in too few samples") {
  CHECK(watched(40, 3, growing).kind == VerdictKind::cannot_tell);
  const auto slow = [](double now) { return Blocks{100 + now / 20, 200 + now}; };
  CHECK(watched(60, 3, slow).kind != VerdictKind::leak);           // three blocks more
  CHECK(watched(60, 3, growing, 3000).kind != VerdictKind::leak);  // two samples more
  CHECK(watched(200, 3, growing, 1000).kind == VerdictKind::leak);
}

TEST_CASE("growth that slows down may be a cache that fills") {
  const auto filling = [](double now) { return Blocks{3000 * (1 - std::exp(-now / 15)), 9000}; };
  CHECK(watched(60, 3, filling).kind != VerdictKind::leak);
}

TEST_CASE("two collections do not show whether growth goes on") {
  CHECK(watched(60, 40, growing).kind == VerdictKind::cannot_tell);
}

TEST_CASE("what stays is level while new blocks come, and kept without") {
  const auto level = [](double now) {
    return Blocks{1000 + 10 * std::sin(now), 5000 + 1000 * now};
  };
  CHECK(watched(60, 1, level).kind == VerdictKind::cache);
  CHECK(in_words(watched(60, 1, level)) ==
        "level: in use has not grown for 60 s, while new blocks came");
  const auto kept = [](double) { return Blocks{1000, 5000}; };
  CHECK(watched(60, 1, kept).kind == VerdictKind::kept);
  CHECK(watched(10, 1, kept).kind == VerdictKind::cannot_tell);
  const auto gone = [](double now) { return Blocks{now < 30 ? 1000.0 : 0.0, 5000}; };
  CHECK(watched(60, 1, gone).kind == VerdictKind::comes_back);
}

TEST_CASE("what a process had in use when it ended has not leaked") {
  const auto kept = [](double) { return Blocks{1000, 5000}; };
  const Verdict verdict = watched(60, 1, kept, 1, {}, true);
  CHECK(verdict.kind == VerdictKind::kept);
  CHECK(verdict.ended);
}

TEST_CASE("the noise floor holds for growth, too") {
  CHECK(watched(60, 3, growing, 1, {.min_bytes = 1 << 30}).kind != VerdictKind::leak);
}
