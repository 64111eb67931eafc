// SPDX-License-Identifier: BSD-2-Clause
// What tools of macOS print. The samples are written after published ones.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

bool has_note(const Profile& p, std::string_view part) {
  return std::any_of(p.meta.notes.begin(), p.meta.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

Frame leaf(const Profile& p, size_t row) { return p.frames[p.path(p.touched()[row]).back()]; }

const std::string sample_head =
    "Analysis of sampling brew (pid 7) every 10 milliseconds\n"
    "Process:         brew [7]\n\nCall graph:\n";
const std::string sample_end = "\nTotal number in stack (recursive counted multiple, when >=5):\n";
const std::string leaks_head = "leaks Report Version: 4.0\n";

}  // namespace

TEST_CASE("sample: a call graph") {
  const Profile p = read_data("sample/server.txt", "", {.lines = true});
  CHECK(recognised(sample_head) == "sample");
  const std::string boil = "brew server;start;main;kettle::boil(int, double)";
  CHECK(stacks(p) == Stacks{{"brew server;start", 1},
                            {"brew server;start;exit", 2},
                            {"brew server;start;main;-[Pot pour:into:]", 232},
                            {boil, 61},
                            {boil + ";[brew server+0x31f0]", 150},
                            {boil + ";operator new(unsigned long);_malloc_zone_malloc", 400},
                            {"brew server;thread_start;__psynch_cvwait", 846}});
  CHECK(p.total(0) == 2 * 846);  // both threads
  CHECK(has_note(p, "one sample every 1 millisecond"));
  CHECK(p.losses.lost_events() == 0);
  const auto found = std::find_if(p.touched().begin(), p.touched().end(), [&](StackId stack) {
    return p.strings[p.frames[p.stacks[stack].frame].function] == "kettle::boil(int, double)";
  });
  REQUIRE(found != p.touched().end());
  const Frame& frame = p.frames[p.stacks[*found].frame];
  CHECK(p.strings[frame.file] == "kettle.cc");
  CHECK(frame.line == 71);
  CHECK(p.strings[frame.module] == "brew server");
  const Profile threads =
      read_data("sample/server.txt", "", {.tid = true, .addresses = true, .offsets = true});
  CHECK(stacks(threads)["brew server-4711/81002;thread_start + 8;__psynch_cvwait + 8"] == 846);
  CHECK(
      stacks(threads)["brew server-4711/81001;start + 2840;main + 164;kettle::boil(int, double) + "
                      "72,96,...;0x102a431f0"] == 150);
}

TEST_CASE("sample: a graph that is cut, contradicts itself, or stands alone") {
  const std::string tree =
      "    10 Thread_1\n    + 10 start  (in dyld) + 1  [0x1]\n    +   4 f  (in a) + 1  [0x2]\n";
  CHECK(stacks(read_text(sample_head + tree + sample_end)) ==
        Stacks{{"brew;start", 6}, {"brew;start;f", 4}});
  CHECK(has_note(read_text(sample_head + tree), "nothing is behind the call graph"));
  CHECK(
      has_note(read_text(sample_head + tree + "    +   3 g  (i"), "its last line may be cut off"));
  CHECK(error_of(sample_head + tree, "", {.refuse_truncated = true}).find("in the middle") !=
        std::string::npos);
  const Profile odd =
      read_text(sample_head + tree + "    +     5 g  (in a) + 1  [0x3]\n" + sample_end);
  CHECK(stacks(odd) == Stacks{{"brew;start", 5}, {"brew;start;f;g", 5}});
  CHECK(odd.losses[Loss::input_line].events == 1);
  const Profile two = read_text("Call graph:\n" + tree + sample_end + "Call graph:\n" + tree);
  CHECK(recognised("Call graph:\n" + tree) == "sample");
  CHECK(two.total(0) == 20);
  CHECK(has_note(two, "call graphs of 2 reports are added up"));
  // Without symbols, modules or threads.
  const Profile bare = read_text(sample_head +
                                 "    3 ???  (in <unknown binary>)  [0x10]\n"
                                 "      2 plain + 12  [0x11]\n"
                                 "        1 main\n" +
                                 sample_end);
  CHECK(stacks(bare) ==
        Stacks{{"[unknown]", 1}, {"[unknown];plain", 1}, {"[unknown];plain;main", 1}});
  CHECK(error_of(sample_head + "    99999999999999999999 f  (in a)\n").find("64 bits") !=
        std::string::npos);
  CHECK(error_of(sample_head).find("no call graph with lines like") != std::string::npos);
}

TEST_CASE("leaks: trees below the stacks that allocated their roots") {
  const Profile p = read_data("leaks/stacks.txt", "", {.lines = true});
  const std::string kettle =
      "brew;start;main;kettle_new;_malloc_zone_malloc_instrumented_or_legacy";
  const std::string pot = "brew;start;main;[unknown];-[Pot init];calloc";
  CHECK(stacks(p) == Stacks{{kettle, 1744}, {pot, 96}, {"brew;ROOT LEAK: malloc<4096>", 4096}});
  CHECK(stacks(p, "leaked_blocks") ==
        Stacks{{kettle, 5}, {pot, 3}, {"brew;ROOT LEAK: malloc<4096>", 1}});
  CHECK(stacks(p, "roots") ==
        Stacks{{kettle, 160}, {pot, 32}, {"brew;ROOT LEAK: malloc<4096>", 4096}});
  CHECK(p.total(0) == 5936);  // as the report states
  CHECK(p.total(1) == 9);
  CHECK(p.meta.notes.empty());
  CHECK(p.losses.lost_events() == 0);
  const Frame& main = p.frames[p.path(p.touched()[0])[2]];
  CHECK(p.strings[main.function] == "main");
  CHECK(p.strings[main.module] == "brew");
  CHECK(p.strings[main.file] == "main.c");
  CHECK(main.line == 28);
}

TEST_CASE("leaks: trees without stacks, and blocks of older versions") {
  const Profile p = read_data("leaks/trees.txt");
  const std::string trust = "ROOT LEAK: <SecTrust>;<NSArray>";
  CHECK(stacks(p) == Stacks{{"ROOT LEAK: malloc<45056>", 45056},
                            {"ROOT LEAK: malloc<4096>", 4096},
                            {"ROOT LEAK: <SecTrust>", 48},
                            {trust, 16},
                            {trust + ";__strong _object --> <SecCertificate>", 64}});
  CHECK(p.meta.notes.empty());
  CHECK(stacks(read_data("leaks/trees.txt", "", {.addresses = true}))
            .contains("ROOT LEAK: 0x10f3b5000"));
  const Profile old = read_data("leaks/blocks.txt");
  CHECK(stacks(old) == Stacks{{"brew;start;main;Album.add(song:)", 64},
                              {"brew;start;main", 64},
                              {"brew;malloc<16>", 16}});
  CHECK(leaf(old, 0).kind == FrameKind::user);
  CHECK(old.strings[leaf(old, 0).module] == "brew");
  CHECK(old.meta.notes.empty());
}

TEST_CASE("leaks: what the report states and does not list is told") {
  const std::string total = "Process 7: 3 leaks for 96 total leaked bytes.\n\n";
  const std::string one = "    1 (32 bytes) ROOT LEAK: 0x1 [32]\n";
  const Profile few = read_text(leaks_head + total + one);
  CHECK(few.total(0) == 32);
  CHECK(has_note(few, "the report states 96 B in 3 leaks, it lists 32 B in 1 leaks"));
  CHECK(few.losses[Loss::input_left_out].events == 2);
  // Lines that stand for several blocks.
  const Profile grouped =
      read_text(leaks_head + total + "    3 (96 bytes) ROOT CYCLE: <Pot> [32]\n");
  CHECK(grouped.total(0) == 96);
  CHECK(grouped.meta.notes.empty());
  const Profile rounded = read_text(leaks_head +
                                    "Process 7: 9 leaks for 1500 total leaked bytes.\n"
                                    "    9 (1.46K) ROOT CYCLE: <Pot>\n");
  CHECK(rounded.total(0) == 1495);
  CHECK(has_note(rounded, "some sizes are rounded"));
  const Profile part = read_text(leaks_head + total + "    3 (96 bytes) << TOTAL >>\n  " + one);
  CHECK(stacks(part) == Stacks{{"ROOT LEAK: malloc<32>", 32}, {"[not listed]", 64}});
  CHECK(has_note(read_text(leaks_head + total + "    3 (96 bytes) ROOT LEAK: 0x1 [32"),
                 "its last line may be cut off"));
  const Profile two = read_text(leaks_head + total + one + leaks_head + total + one);
  CHECK(two.total(0) == 64);
  CHECK(has_note(two, "reports on 2 are added up"));
  CHECK(error_of(leaks_head + "Process 7: 0 leaks for 0 total leaked bytes.\n") ==
        "text:2: it reports no leak, so there is nothing to show");
  CHECK(error_of(leaks_head).find("no leak like") != std::string::npos);
  CHECK(error_of(leaks_head + "    1 (99999999999T) ROOT LEAK: 0x1\n").find("64 bits") !=
        std::string::npos);
  const std::string most = "    1 (4 bytes) ROOT LEAK: 0x1 [9223372036854775807]\n";
  CHECK(error_of(leaks_head + most + most).find("64 bits") != std::string::npos);
}

TEST_CASE("malloc_history: the sums of all stacks") {
  const Profile p = read_data("malloc-history/all-by-size.txt", "", {.lines = true});
  const std::string pour = "brew;thread_start;-[Pot pour:into:];malloc";
  CHECK(
      stacks(p) ==
      Stacks{{"brew;start;main;kettle_new;malloc", 12288},
             {"brew;start;main;Tea::operator|(Tea const&);operator new(unsigned long);malloc", 960},
             {pour, 48}});
  CHECK(stacks(p, "calls")[pour] == 1);
  const Frame& frame = p.frames[p.path(p.touched()[2])[2]];
  CHECK(p.strings[frame.module] == "Pots (Debug)");
  CHECK(p.strings[frame.file] == "Pot.m");
  CHECK(frame.line == 30);
  CHECK(p.meta.notes.empty());
  const Profile listed = read_text(
      "2 calls for 64 bytes:\n"
      "1   dyld      0x19b2e4274 start + 2840\n"
      "0   brew      0x102a43a10 main + 164  main.c:28\n\n"
      "1 calls for 8 bytes: thread_1 |start\n");
  CHECK(stacks(listed) == Stacks{{"start;main", 64}, {"start", 8}});
}

TEST_CASE("malloc_history: a call tree, whose sizes are rounded") {
  const Profile p = read_data("malloc-history/call-tree.txt");
  const std::string main = "brew;start;main";
  CHECK(stacks(p, "calls") == Stacks{{main + ";kettle_new;_malloc_zone_malloc", 3},
                                     {main + ";tea_new;calloc", 20},
                                     {"brew;thread_start;malloc", 1}});
  // What rounding leaves to lines without calls of their own is nobody's.
  CHECK(stacks(p) == Stacks{{main + ";kettle_new;_malloc_zone_malloc", 12288},
                            {main + ";tea_new;calloc", 13517},
                            {"brew;thread_start;malloc", 48}});
  CHECK(has_note(p, "sizes are rounded as malloc_history printed them"));
  CHECK(recognised("Call graph:\n    1 (4.00K) main  (in a)\n") == "malloc-history");
}

TEST_CASE("malloc_history: what has no sums, is cut, or is too large") {
  const std::string event = "ALLOC 0x10-0x2f [size=32]: thread_1 |start | main\n";
  CHECK(error_of("malloc_history Report Version:  2.0\n" + event)
            .find("only events of single blocks (ALLOC, FREE)") != std::string::npos);
  const std::string sum = "1 calls for 8 bytes: thread_1 |start\n";
  CHECK(has_note(read_text(sum + event), "events of single blocks (ALLOC, FREE) are left out: 1"));
  CHECK(has_note(read_text("2 calls for 8 bytes: start | ma"), "its last line may be cut off"));
  CHECK(error_of("1 calls for 99999999999999999999 bytes: a\n").find("64 bits") !=
        std::string::npos);
  const std::string most = "1 calls for 9223372036854775807 bytes: thread_1 |start\n";
  CHECK(error_of(most + most).find("64 bits") != std::string::npos);
  CHECK(stacks(read_text("5 calls for 7 bytes: thread_1 |\n")) == Stacks{{"[no stack]", 7}});
}
