// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/verdicts/gate.h"

#include <doctest/doctest.h>

#include "core/error.h"
#include "tests/support/made_history.h"

using namespace memflame;

namespace {

// A steady leak of `rate` bytes per second, ± 10 %.
NamedVerdict leaking(const std::string& function, double rate = 1000) {
  NamedVerdict stack;
  Verdict& verdict = stack.verdict;
  verdict.kind = VerdictKind::leak;
  verdict.growth = GrowthClass::linear;
  verdict.is_steady = true;
  verdict.rate = {rate, rate * 0.9, rate * 1.1};
  verdict.live_bytes = 60000;
  verdict.live_blocks = 600;
  verdict.survivor_bytes = 50000;
  verdict.survivors = 500;
  stack.process = "server";
  stack.frames = {{"malloc", "/lib/libc.so.6", "", 0, false},
                  {function, "/opt/app/server", "/src/app/" + function + ".cc", 12, false},
                  {"main", "/opt/app/server", "/src/app/main.cc", 3, false}};
  stack.caller = 1;
  stack.key = function;
  return stack;
}

// Blocks that a process of a second left.
NamedVerdict left(const std::string& function, int64_t bytes, int64_t blocks = 1) {
  NamedVerdict stack = leaking(function);
  Verdict& verdict = stack.verdict;
  verdict.growth = GrowthClass::none;
  verdict.ended = true;
  verdict.is_steady = false;
  verdict.rate = {};
  verdict.live_bytes = verdict.survivor_bytes = bytes;
  verdict.live_blocks = verdict.survivors = blocks;
  return stack;
}

NamedVerdict of_kind(const std::string& function, VerdictKind kind) {
  NamedVerdict stack = leaking(function);
  stack.verdict.kind = kind;
  stack.verdict.growth = GrowthClass::constant;
  stack.verdict.is_steady = false;
  stack.verdict.wait_s = 20;
  return stack;
}

GateOptions fail_on(std::initializer_list<std::string_view> chosen) {
  GateOptions options;
  for (const FailOn& each : fail_on_words())
    for (const std::string_view word : chosen)
      if (each.word == word) options.fail_on.push_back(each);
  return options;
}

LeakCheck check(const std::vector<NamedVerdict>& stacks, const GateOptions& options,
                const Baseline* baseline = nullptr, const std::string& suppressed = "") {
  Suppressions suppressions;
  suppressions.add_file("known.supp", suppressed);
  return check_leaks(stacks, options, suppressions, baseline);
}

}  // namespace

TEST_CASE("a leak fails, a cache passes, and what cannot be told is neither") {
  const std::vector stacks{leaking("grow"), of_kind("fill", VerdictKind::cache),
                           of_kind("wait", VerdictKind::cannot_tell)};
  const LeakCheck result = check(stacks, fail_on({"leak"}));
  CHECK(result.has_failed());
  REQUIRE(result.cases.size() == 3);
  CHECK(result.cases[0].outcome == CaseOutcome::failed);
  CHECK(result.cases[0].rule == "leak");
  CHECK(result.cases[0].leaked_bytes == 50000);
  CHECK(result.sum(CaseOutcome::passed).stacks == 1);
  CHECK(result.sum(CaseOutcome::unsure).stacks == 1);
  CHECK(result.sum(CaseOutcome::unsure).bytes == 60000);
  CHECK(result.leaked_bytes == 50000);
  CHECK_FALSE(check({stacks[2]}, fail_on({"leak"})).has_failed());
  CHECK(check({stacks[2]}, fail_on({"cannot-tell"})).has_failed());
}

TEST_CASE("what is lost fails, whatever its verdict; what is reachable passes") {
  NamedVerdict lost = of_kind("lose", VerdictKind::kept);
  lost.reach.emplace();
  lost.reach->add(Reach::reachable, {40000, 400});
  lost.reach->add(Reach::indirect, {20000, 200});
  NamedVerdict reachable = leaking("keep");
  reachable.reach.emplace();
  reachable.reach->add(Reach::reachable, {60000, 600});
  const NamedVerdict unsure = of_kind("wait", VerdictKind::cannot_tell);
  LeakCheck result = check({lost, reachable, unsure, leaking("not scanned")}, fail_on({"lost"}));
  CHECK(result.sum(CaseOutcome::failed).stacks == 1);
  CHECK(result.cases[0].rule == "lost");
  CHECK(result.cases[0].reach->lost().bytes == 20000);
  CHECK(result.sum(CaseOutcome::passed).stacks == 3);
  result = check({lost, reachable, unsure}, fail_on({"lost", "leak"}));
  CHECK(result.sum(CaseOutcome::failed).stacks == 2);
  CHECK(result.sum(CaseOutcome::unsure).stacks == 1);
  // Floors are those of the lost blocks, and rates do not matter.
  GateOptions options = fail_on({"lost"});
  options.min_rate = 1e9;
  CHECK(check({lost}, options).has_failed());
  options.has_given_floor = true;
  options.min_bytes = 20001;
  CHECK_FALSE(check({lost}, options).has_failed());
}

TEST_CASE("growth fails whatever became of the blocks") {
  NamedVerdict stack = of_kind("collect", VerdictKind::freed_at_end);
  stack.verdict.growth = GrowthClass::exponential;
  CHECK_FALSE(check({stack}, fail_on({"leak", "linear"})).has_failed());
  const LeakCheck result = check({stack}, fail_on({"leak", "exponential"}));
  CHECK(result.has_failed());
  CHECK(result.cases[0].rule == "exponential");
  CHECK(result.cases[0].sentence.starts_with("exponential growth of live bytes; "));
}

TEST_CASE("slower leaks pass, and those without a rate, and both are counted") {
  GateOptions options = fail_on({"leak"});
  options.min_rate = 500;
  const LeakCheck result =
      check({leaking("fast", 600), leaking("slow", 400), left("once", 70000)}, options);
  CHECK(result.sum(CaseOutcome::failed).stacks == 1);
  CHECK(result.sum(CaseOutcome::too_slow).stacks == 2);
  CHECK(result.sum(CaseOutcome::too_slow).bytes == 130000);
}

TEST_CASE("the sum of all leaks fails above its limit only") {
  GateOptions options;
  options.most_leaked = 3000;
  CHECK_FALSE(check({left("a", 1000), left("b", 2000)}, options).has_failed());
  CHECK(check({left("a", 1000), left("b", 2001)}, options).sum(CaseOutcome::failed).stacks == 2);
  // Neither suppressed nor known bytes count.
  const LeakCheck result = check({left("a", 1000), left("b", 2001)}, options, nullptr, "leak:^b$");
  CHECK(result.leaked_bytes == 1000);
  CHECK_FALSE(result.has_failed());
}

TEST_CASE("a floor that the user gave is also one for what processes left") {
  GateOptions options = fail_on({"leak"});
  CHECK(check({left("a", 24)}, options).has_failed());
  options.has_given_floor = true;
  options.min_bytes = 100;
  options.min_blocks = 0;
  const LeakCheck result = check({left("a", 24), left("b", 100)}, options);
  CHECK(result.sum(CaseOutcome::too_small).bytes == 24);
  CHECK(result.sum(CaseOutcome::failed).bytes == 100);
}

TEST_CASE("known stacks pass unless they are clearly worse") {
  const GateOptions options = fail_on({"leak"});
  const Baseline baseline = baseline_of(std::vector{leaking("a", 1000), left("b", 500),
                                                    leaking("c"), of_kind("d", VerdictKind::cache)},
                                        options);
  CHECK(baseline.size() == 3);
  const LeakCheck same = check({leaking("a", 1150), left("b", 1000)}, options, &baseline);
  CHECK_FALSE(same.has_failed());
  CHECK(same.sum(CaseOutcome::known).stacks == 2);
  CHECK(same.gone == 1);
  CHECK(same.leaked_bytes == 0);
  // 0.9 * 1300 is more than 1.1 * 1000.
  const LeakCheck worse = check({leaking("a", 1300), left("b", 1001), leaking("d"), leaking("new")},
                                options, &baseline);
  CHECK(worse.sum(CaseOutcome::failed).stacks == 4);
  CHECK(worse.cases[0].is_worse);
  CHECK(worse.cases[1].is_worse);
  CHECK_FALSE(worse.cases[2].is_worse);
}

TEST_CASE("patterns match functions, files of code and source files; unused ones are told") {
  const std::string file = "# known\n\nleak:^gro*\n  leak:other.cc$ \r\nleak:nothing\n";
  const LeakCheck result = check({leaking("grow"), leaking("other"), leaking("third")},
                                 fail_on({"leak"}), nullptr, file);
  CHECK(result.sum(CaseOutcome::suppressed).stacks == 2);
  CHECK(result.sum(CaseOutcome::failed).stacks == 1);
  REQUIRE(result.suppressions.size() == 3);
  CHECK(result.suppressions[0].pattern == "leak:^gro*");
  CHECK(result.suppressions[0].origin == "known.supp:3");
  CHECK(result.suppressions[0].bytes == 60000);
  CHECK(result.suppressions[1].blocks == 600);
  CHECK(result.suppressions[2].stacks == 0);
  CHECK_FALSE(check({leaking("x")}, fail_on({"leak"}), nullptr, "leak:^/opt/app/*$").has_failed());
  Suppressions suppressions;
  CHECK_THROWS_WITH_AS(suppressions.add_file("s", "leak:a\nrace:b\n"),
                       "s:2: expected leak:PATTERN, an empty line or a comment (#)", Error);
  CHECK_THROWS_AS(suppressions.add_file("s", "leak:" + std::string(2000, 'a')), Error);
}

TEST_CASE("one-time blocks are those of the libraries themselves") {
  const auto suppressed = [](const NamedVerdict& stack) {
    Suppressions suppressions;
    suppressions.add_one_time_blocks();
    return suppressions.match(stack).has_value();
  };
  const std::string libc = "/usr/lib/x86_64-linux-gnu/libc.so.6", app = "/opt/app/server",
                    loader = "/lib64/ld-linux-x86-64.so.2", cpp = "/usr/lib/libstdc++.so.6.0.30";
  const auto stack = [&](const std::vector<std::pair<std::string, std::string>>& frames) {
    NamedVerdict one = left("x", 1024);
    one.frames = {{"malloc", libc, "", 0, false}};
    for (const auto& [function, module] : frames)
      one.frames.push_back({function, module, "", 0, false});
    return one;
  };
  NamedVerdict stdio = stack({{"_IO_file_doallocate", libc}, {"puts", libc}, {"main", app}});
  CHECK(suppressed(stdio));
  CHECK(suppressed(stack({{"[libc.so.6+0x38cb0]", libc}, {"setlocale", libc}, {"main", app}})));
  CHECK(suppressed(stack({{"[ld-linux-x86-64.so.2+0xac50]", loader}, {"dlopen", libc}})));
  CHECK(suppressed(stack({{"[libstdc++.so.6.0.30+0xa5780]", cpp}, {"call_init", loader}})));
  // In a static program, where names are all that tells.
  CHECK(suppressed(stack({{"_IO_file_doallocate", app}, {"main", app}})));
  CHECK(suppressed(stack({{"_nl_intern_locale_data", app}, {"_nl_find_locale", app}})));
  CHECK_FALSE(suppressed(stack({{"keep", app}, {"_nl_find_locale", app}})));
  // A constructor of the program, and one of the library that the program called.
  CHECK_FALSE(suppressed(stack({{"init()", app}, {"call_init", loader}, {"_dl_init", loader}})));
  CHECK_FALSE(suppressed(stack({{"[libstdc++.so.6.0.30+0xa5780]", cpp}, {"main", app}})));
  CHECK_FALSE(suppressed(stack({{"strdup", libc}, {"load", app}, {"setlocale", libc}})));
  CHECK_FALSE(suppressed(stack({{"__gconv_open", libc}, {"iconv_open", libc}, {"main", app}})));
  // Too many blocks to be allocated once.
  stdio.verdict.live_blocks = 65;
  CHECK_FALSE(suppressed(stdio));
  stdio.tracks = 2;  // in two processes
  CHECK(suppressed(stdio));
}

TEST_CASE("one-time blocks that an ended process left are kept") {
  Verdict verdict = left("x", 72704).verdict;
  excuse(verdict, "");
  CHECK(verdict.kind == VerdictKind::leak);
  Verdict many = left("x", 72704, 65).verdict, running = verdict;
  running.ended = false;
  for (Verdict* other : {&many, &running}) {
    excuse(*other, "buffers of stdio");
    CHECK(other->kind == VerdictKind::leak);
  }
  excuse(verdict, "memory for exceptions");
  CHECK(verdict.kind == VerdictKind::kept);
  CHECK(in_words(verdict) ==
        "kept: memory for exceptions, allocated once by a library, 71.0 KiB in 1 block");
}

TEST_CASE("stacks of the same names are one case, whatever their tracks") {
  HistoryMaker maker;
  const TrackId a = maker.track({"serve", "libc.so.6/malloc"});
  const TrackId b = maker.track({"serve", "libc.so.6/malloc"});
  const TrackId c = maker.track({"libc.so.6/malloc"});
  maker.track({"never", "libc.so.6/malloc"});
  Look& look = maker.look(1, {{a, {100, 1, 100, 1}}, {b, {200, 2, 200, 2}}, {c, {50, 1, 50, 1}}});
  look.ended = {SpaceId{1}};
  const History& history = maker.history;
  Ledger ledger(history.recording.types);
  for (const Look& each : history.looks) ledger.add(each, history.tracks);
  ledger.end(history.looks.back().time_ns);
  Losses losses;
  const std::vector<NamedVerdict> stacks =
      named_verdicts(ledger, history.tracks, history.recording, {}, losses);
  REQUIRE(stacks.size() == 2);
  CHECK(stacks[0].verdict.kind == VerdictKind::leak);
  CHECK(stacks[0].verdict.survivor_bytes == 300);
  CHECK(stacks[0].tracks == 2);
  CHECK(stacks[0].process == "server");
  REQUIRE(stacks[0].frames.size() == 3);
  CHECK(stacks[0].frames[0].function == "malloc");
  CHECK(stacks[0].caller == 1);
  CHECK(stacks[1].verdict.survivor_bytes == 50);
  CHECK_FALSE(losses.any());

  // Blocks of the warm-up are kept, not leaked.
  VerdictOptions options;
  options.warmup_ns = 10'000'000'000;
  for (const NamedVerdict& stack :
       named_verdicts(ledger, history.tracks, history.recording, options, losses))
    CHECK(stack.verdict.kind == VerdictKind::kept);
}
