// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include "collapse/verdicts/ledger.h"
#include "tests/collapse/verdicts/scenarios.h"
#include "tests/support/scaled.h"

using namespace memflame;

namespace {

void check_server(ServerOptions options) {
  const size_t runs = scaled(20) == 20 ? 20 : 1;  // sanitizers make a run take a second
  for (uint64_t seed = 1; seed <= runs; ++seed) {
    CAPTURE(seed);
    Ledger ledger(block_types());
    bool is_early_leak = false;
    const Server server = run_server(seed, options, [&](const Look& look, const Simulation& now) {
      ledger.add(look, now.tracks());
      if (look.time_ns >= uint64_t{29'000'000'000}) return;
      for (const Verdict& verdict : ledger.verdicts({}))
        if (verdict.kind == VerdictKind::leak) is_early_leak = true;
    });
    CHECK(!is_early_leak);
    const std::vector<Verdict> verdicts = ledger.verdicts({});
    CHECK(verdicts.at(0).track == server.leak);
    CHECK(verdicts.at(0).kind == VerdictKind::leak);
    CHECK(verdicts.at(0).growth == GrowthClass::linear);
    const double truth = 0.02 * 2000 * 1024;
    CHECK(verdicts.at(0).rate.value == doctest::Approx(truth).epsilon(0.6));
    const auto cache = ledger.verdict(server.cache, {});
    REQUIRE(cache);
    CHECK(cache->kind == VerdictKind::cache);
    if (!options.shares_stack)
      CHECK(ledger.verdict(server.requests, {})->kind == VerdictKind::comes_back);
    if (seed <= 2)
      for (const Verdict& verdict : verdicts)
        MESSAGE(verdict.track.index, " ", name(verdict.growth), " ", in_words(verdict));
  }
}

}  // namespace

TEST_CASE("a server leaks, its cache does not") { check_server({}); }
TEST_CASE("a server leaks on the stack of its requests") { check_server({.shares_stack = true}); }
TEST_CASE("a sampled server leaks, its cache does not") { check_server({.sample_bytes = 65536}); }
TEST_CASE("a sampled server leaks on the stack of its requests") {
  check_server({.sample_bytes = 65536, .shares_stack = true});
}
TEST_CASE("a cache with hits replaces its entries late") { check_server({.hits = 0.5}); }

TEST_CASE("the bundled cache server: the leak comes first, and the cache is a cache") {
  const size_t runs = scaled(20) == 20 ? 20 : 1;
  for (const double sample_bytes : {0.0, 65536.0}) {
    CAPTURE(sample_bytes);
    size_t seen = 0, known_by_nodes = 0;
    for (uint64_t seed = 1; seed <= (sample_bytes > 0 ? runs : 1); ++seed) {
      ++seen;
      CAPTURE(seed);
      Ledger ledger(block_types());
      const CacheServer server = run_cache_server(
          seed, 65, sample_bytes,
          [&](const Look& look, const Simulation& now) { ledger.add(look, now.tracks()); });
      const std::vector<Verdict> verdicts = ledger.verdicts({});
      CHECK(verdicts.at(0).track == server.notes);
      CHECK(verdicts.at(0).kind == VerdictKind::leak);
      const auto cache = ledger.verdict(server.texts, {});
      REQUIRE(cache);
      CAPTURE(in_words(*cache));
      CHECK(cache->kind == VerdictKind::cache);
      // The cache is full after some 11 s.
      CHECK(cache->since_s == doctest::Approx(54).epsilon(0.1));
      for (const TrackId few : {server.nodes, server.places})
        CHECK(ledger.verdict(few, {})->kind != VerdictKind::leak);
      if (ledger.verdict(server.nodes, {})->kind == VerdictKind::cache) ++known_by_nodes;
    }
    // Some 17 samples of the nodes live, and 75 have died.
    CHECK(known_by_nodes + seen / 10 >= seen);
  }
}

TEST_CASE("sampled blocks that are freed at any age are not a cache") {
  const size_t runs = scaled(20) == 20 ? 20 : 1;
  for (const double mean_s : {3.0, 6.0, 12.0})
    for (uint64_t seed = 1; seed <= runs; ++seed) {
      CAPTURE(mean_s);
      CAPTURE(seed);
      Simulation simulation(seed, 65536);
      const TrackId track = simulation.add_track();
      Ledger ledger(block_types());
      for (int second = 0; second < 100; ++second) {
        for (int i = 0; i < 1000; ++i)
          simulation.allocate(second + i / 1000.0, track, 1000, simulation.exponential(mean_s));
        ledger.add(simulation.look(second + 1), simulation.tracks());
      }
      const auto verdict = ledger.verdict(track, {});
      REQUIRE(verdict);
      CAPTURE(in_words(*verdict));
      const bool is_right =
          verdict->kind == VerdictKind::comes_back || verdict->kind == VerdictKind::cannot_tell;
      CHECK(is_right);
    }
}
