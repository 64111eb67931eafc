// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include "collapse/verdicts/verdict.h"

using namespace memflame;

TEST_CASE("a verdict is a plain sentence") {
  Verdict verdict;
  verdict.kind = VerdictKind::leak;
  verdict.is_steady = verdict.any_freed = true;
  verdict.leaked_share = 0.02;
  verdict.rate = {19558, 19046, 20173};
  verdict.survivors = 11412;
  verdict.oldest_s = 58;
  verdict.others_live_at_most_s = 11;
  CHECK(in_words(verdict) ==
        "leak: 2.0 % of the blocks never come back, 19.1 KiB/s (18.6–19.7), 11,412 survivors, "
        "oldest 58 s; others from here live at most 11 s");
  verdict.rate = {0.5, 0.25, 0.75};
  verdict.leaked_share = 1;
  verdict.any_freed = false;
  CHECK(in_words(verdict) ==
        "leak: no block ever comes back, 1.8 KiB/h (0.9–2.6), 11,412 survivors, oldest 58 s; "
        "nothing from here has been freed (a cache that fills looks the same)");
  verdict.ended = true;
  verdict.is_steady = false;
  verdict.survivors = 1;
  verdict.survivor_bytes = 812;
  verdict.oldest_s = 7200;
  CHECK(in_words(verdict) ==
        "leak: the process ended and left 1 block, 812 B, 100.0 % of all from here, oldest 2.0 h; "
        "nothing from here has been freed");
}

TEST_CASE("other verdicts say since when, or how long to wait") {
  Verdict verdict;
  verdict.kind = VerdictKind::cache;
  verdict.since_s = 38;
  verdict.replaced_within_s = 12;
  CHECK(in_words(verdict) == "cache or pool: full since 38 s, everything is replaced within 12 s");
  verdict.replaced_share = 0.93;
  CHECK(in_words(verdict) == "cache or pool: full since 38 s, 93.0 % is replaced within 12 s");

  verdict = {};
  verdict.wait_s = 25;
  verdict.live_growth = {10, 5, 15};
  CHECK(in_words(verdict) ==
        "growing, cannot tell yet: nothing from here has been freed; look again in 25 s");
  verdict.any_freed = true;
  verdict.others_live_at_most_s = 24.6;
  verdict.live_growth = {10, -5, 25};
  CHECK(in_words(verdict) ==
        "cannot tell yet: blocks from here live up to 25 s; look again in 25 s");
  verdict.survivors = 3;
  verdict.leaked_share = 0.4;
  CHECK(in_words(verdict) ==
        "cannot tell yet: 40.0 % of the blocks have not come back so far; look again in 25 s");

  verdict = {};
  verdict.kind = VerdictKind::kept;
  verdict.since_s = 52;
  verdict.survivors = 864;
  verdict.survivor_bytes = 28160;
  CHECK(in_words(verdict) == "kept: nothing new since 52 s, 27.5 KiB in 864 blocks");

  verdict = {};
  verdict.kind = VerdictKind::comes_back;
  verdict.replaced_within_s = 0.4;
  CHECK(in_words(verdict) == "comes back: everything is freed within 0.4 s");
  verdict.survivors = 2;
  CHECK(in_words(verdict) == "comes back: everything but 2 blocks is freed within 0.4 s");

  verdict = {};
  verdict.kind = VerdictKind::freed_at_end;
  verdict.maximum_bytes = 2048;
  verdict.maximum_at_s = 300;
  CHECK(in_words(verdict) == "freed at the end: 2.0 KiB at most, at 5 min");
}

TEST_CASE("the most wrong comes first") {
  Verdict steady, large, unknown;
  steady.kind = large.kind = VerdictKind::leak;
  steady.is_steady = true;
  steady.survivor_bytes = 1;
  large.survivor_bytes = 1000000;
  unknown.live_bytes = 1 << 30;
  CHECK(is_worse(steady, large));
  CHECK(is_worse(large, unknown));
  CHECK(!is_worse(unknown, steady));
  CHECK(name(steady.kind) == "leak");
  CHECK(name(GrowthClass::exponential) == "exponential");
}
