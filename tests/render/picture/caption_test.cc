// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/caption.h"

#include <doctest/doctest.h>

#include <array>
#include <utility>

#include "render/picture/column_words.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

Profile example() {
  Profile p;
  p.types = {{"live", Unit::bytes}, {"live-count", Unit::count}};
  p.add(p.push({}, "main"), std::array<int64_t, 2>{124675686, 12001});
  p.meta.command = "memflame alloc -p 812";
  p.meta.host = "web-3";
  p.meta.seconds = 60;
  p.meta.reconciliation = {{"VmRSS growth", 124675686, 126249103}};
  p.meta.notes = {"a note"};
  return p;
}

std::vector<std::string> lines(const Profile& p) {
  std::vector<std::string> out;
  for (const Caption& caption : captions(p, layout(p, {}), p.losses)) out.push_back(caption.text);
  return out;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("figures are exact and readable") {
  CHECK(exact(812, {"", Unit::bytes}) == "812 B");
  CHECK(exact(-812, {"", Unit::bytes}) == "-812 B");
  CHECK(exact(1610612736, {"", Unit::bytes}) == "1.5 GiB (1,610,612,736 B)");
  CHECK(exact(-4096, {"", Unit::bytes}) == "-4.0 KiB (-4,096 B)");
  CHECK(exact(1, {"", Unit::pages}) == "1 page (4.0 KiB, 4,096 B)");
  CHECK(exact(30826, {"", Unit::pages}) == "30,826 pages (120.4 MiB, 126,263,296 B)");
  CHECK(exact(INT64_MAX, {"", Unit::pages}) == "9,223,372,036,854,775,807 pages");
  CHECK(exact(12001, {"", Unit::count}) == "12,001");
  CHECK(brief(2202009, {"", Unit::bytes}) == "2.1 MiB");
}

TEST_CASE("what was watched, totals, reconciliation, notes") {
  CHECK(lines(example()) == Lines{"memflame alloc -p 812 · on web-3 · 60.0 s",
                                  "live 118.9 MiB (124,675,686 B) in 1 stack · live blocks 12,001",
                                  "captured 118.9 MiB of 120.4 MiB VmRSS growth (98.8 %); lost 0",
                                  "a note"});
  Profile other = example();
  other.meta.command = "perf record -g ./alloc";
  CHECK(lines(other)[0] == "perf record -g ./alloc · on web-3 · 60.0 s");
  Profile bare;
  bare.types = {{"count", Unit::count}};
  bare.add(bare.push({}, "main"), std::array<int64_t, 1>{7});
  CHECK(lines(bare) == Lines{"count 7 in 1 stack", "lost 0"});
}

TEST_CASE("what a page says first: the figure, the processes, the time, what was lost") {
  Profile p = example();
  const auto first = [&] {
    const Headline line = headline(p, layout(p, {.max_depth = 3}), p.losses);
    return std::pair(line.figure, line.run);
  };
  CHECK(first() == std::pair<std::string, std::string>("live 118.9 MiB", "60.0 s · lost 0"));
  p.losses.add(Loss::ring_full, 3, 4096);
  p.add(p.push(p.push({}, "as", FrameKind::process), "main"), std::array<int64_t, 2>{10, 1});
  p.add(p.push(p.push({}, "cc1", FrameKind::process), "main"), std::array<int64_t, 2>{30, 1});
  CHECK(first() == std::pair<std::string, std::string>(
                       "live 118.9 MiB", "cc1 and 1 more · 60.0 s · lost 3 (4.0 KiB)"));
  p.shown = 1;
  CHECK(first().first == "live blocks 12,003");
  p.types = {{"before", Unit::bytes}, {"after", Unit::bytes}};
  p.shown = 1;
  CHECK(first().first == "change -118.9 MiB, -100.0 %");
}

TEST_CASE("columns in words") {
  CHECK(column_words({"live-count", Unit::count}) == "live blocks");
  CHECK(column_words({"leaked_all_blocks", Unit::count}) == "leaked blocks, with suppressed ones");
  CHECK(column_words({"of_a_user", Unit::count}) == "of a user");
  CHECK(column_words({"live", Unit::bytes}) == "live");
}

TEST_CASE("every counter that is not 0 is named; losses apart from news") {
  Profile p = example();
  p.losses.add(Loss::ring_full, 3, 4096);
  p.losses.add(Loss::stack_table_full, 2);
  p.losses.add(Loss::free_miss, 12);
  const Lines got = lines(p);
  CHECK(got[2] ==
        "captured 118.9 MiB of 120.4 MiB VmRSS growth (98.8 %); lost 5 (4.0 KiB, 4,096 B)");
  CHECK(got[3] == "lost: stack table full 2 · ring buffer full 3 (4.0 KiB, 4,096 B)");
  CHECK(got[4] == "also counted: frees of blocks not seen to be allocated 12");
  p = example();
  p.losses.add(Loss::truncated_too_deep, 4);
  p.losses.add(Loss::truncated_bad_row, 1200, 5120);
  const Lines cut = lines(p);
  CHECK(cut[2] ==
        "captured 118.9 MiB of 120.4 MiB VmRSS growth (98.8 %); lost 0; 1,204 (5.0 KiB, 5,120 B) "
        "events have a cut stack");
  CHECK(cut[3].starts_with("cut stacks: too deep 4 (more frames than --max-depth: raise it"));
  CHECK(cut[3].find(" · unwind information beyond rsp and rbp 1,200 (5.0 KiB, 5,120 B) (") !=
        std::string::npos);
  for (size_t i = 0; i < loss_info.size(); ++i) {
    Profile one = example();
    one.losses.add(static_cast<Loss>(i), 77);
    const Lines all = lines(one);
    CHECK(all.size() == 5);
    CHECK(all[3].find(std::string(loss_info[i].label) + " 77") != std::string::npos);
  }
}

TEST_CASE("a share is said only of figures that must agree") {
  Profile p = example();
  p.meta.reconciliation = {{.name = "VmRSS growth",
                            .captured = 20866662,
                            .os = 663552,
                            .captured_is = "allocated and not freed"}};
  CHECK(lines(p)[2] ==
        "allocated and not freed 19.9 MiB, VmRSS growth 648.0 KiB: they need not agree; lost 0");
}

TEST_CASE("what has no width, and nothing at all") {
  Profile p = example();
  p.add(p.push({}, "shrink"), std::array<int64_t, 2>{-2048, 0});
  CHECK(lines(p)[3] ==
        "not drawn: -2.0 KiB (-2,048 B) in 1 stack that gave back more than they took");
  Profile none;
  none.types = {{"gained", Unit::pages}};
  none.losses.add(Loss::ring_full, 1, 8);
  CHECK(lines(none) == Lines{"nothing was captured: the total of gained is 0", "lost 1 (8 B)",
                             "lost: ring buffer full 1 (8 B)"});
}

TEST_CASE("titles") {
  Profile p = example();
  CHECK(default_title(p, false) == "Flame graph of live bytes");
  CHECK(default_title(p, true) == "Icicle graph of live bytes");
  p.shown = 1;
  CHECK(default_title(p, false) == "Flame graph of live blocks");
  p.types = {{"pages", Unit::pages}};
  p.shown = 0;
  CHECK(default_title(p, false) == "Flame graph of pages");
  p.types = {{"count", Unit::count}};
  CHECK(default_title(p, false) == "Flame graph");
  p.meta.title = "Mine";
  CHECK(default_title(p, true) == "Mine");
}

TEST_CASE("long lines are broken behind separators or blanks, or anywhere") {
  const double width = text_width("aaaaaaaaaa", 12) + 1;
  CHECK(wrap("aaaa bbbbb cc", 12, width, 9) == Lines{"aaaa bbbbb", "cc"});
  CHECK(wrap("aaa a · bbb", 12, width, 9) == Lines{"aaa a · ", "bbb"});
  CHECK(wrap("aaaaaaaaaaaaaaaaaaaa", 12, width, 9) == Lines{"aaaaaaaaaa", "aaaaaaaaaa"});
  CHECK(wrap("aaaaaa bbbbb", 12, width, 9) == Lines{"aaaaaa ", "bbbbb"});
  CHECK(wrap("a bbbbbbbbbbb", 12, width, 9) == Lines{"a bbbbbbbb", "bbb"});
  CHECK(wrap("", 12, width, 9).empty());
  const Lines cut = wrap("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 12, width, 2);
  CHECK(cut.size() == 2);
  CHECK(cut[1].ends_with("…"));
  for (const std::string& line : cut) CHECK(text_width(line, 12) <= width);
  // Narrower than a letter: one letter per line, and it terminates.
  CHECK(wrap("abc", 12, 1, 9) == Lines{"a", "b", "c"});
}

TEST_CASE("estimates have their errors, and are not given to the last byte") {
  Profile p;
  p.types = {{"live", Unit::bytes, 2, 1048576.0}, {"calls", Unit::count}, {"", Unit::variance}};
  p.add(p.push({}, "main"), std::array<int64_t, 3>{124675686, 12001, 9437184});
  p.meta.sampling = "1 sample per 512 KiB";
  CHECK(lines(p) == Lines{"live 118.9 MiB (± 3.0 MiB) in 1 stack · calls 12,001",
                          "estimated from samples (1 sample per 512 KiB); ± is one standard error",
                          "lost 0"});
  p.shown = 1;
  CHECK(lines(p)[0] == "calls 12,001 in 1 stack · live 118.9 MiB (± 3.0 MiB)");
  CHECK(figure(p, 1, 12001, 0) == "12,001");
  CHECK(figure(p, 0, 4096, 0.01) == "4.0 KiB (± 1 B)");  // an error is not said to be none
  CHECK(figure(p, 0, 4096, 0) == "4.0 KiB (± 0 B)");
  // Folded text keeps that figures are estimates, but not their errors.
  p.shown = 0;
  p.types = {{"live", Unit::bytes}, {"calls", Unit::count}, {"live-count", Unit::count}};
  CHECK(lines(p)[1] == "estimated from samples (1 sample per 512 KiB)");
}

TEST_CASE("a leak that is pointed out is the first line") {
  Profile p = example();
  const StackId main = p.touched()[0];
  p.marks = {{main, VerdictKind::leak, true, 19558, "leak: 2.0 % of the blocks", "begin"}};
  CHECK(lines(p)[0] == "leak: 2.0 % of the blocks – begin");
  CHECK(lines(p)[1] == lines(example())[0]);
  p.marks.push_back({main, VerdictKind::leak, true, 2048, "leak: other", "other"});
  p.marks.push_back({main, VerdictKind::leak, true, 1024, "leak: third", "third"});
  p.marks.push_back({main, VerdictKind::cache, false, 0, "cache", "load"});
  CHECK(lines(p)[1] == "2 more stacks leak, 3.0 KiB/s");
  p.marks = {p.marks.back()};
  CHECK(lines(p) == lines(example()));
}
