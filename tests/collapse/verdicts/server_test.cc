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
