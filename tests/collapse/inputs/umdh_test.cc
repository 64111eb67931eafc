// SPDX-License-Identifier: BSD-2-Clause
// Heaps by Windows' UMDH. The samples are written after published ones.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

bool has_note(const Profile& p, std::string_view part) {
  return std::any_of(p.meta.notes.begin(), p.meta.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

// The figures of one stack in a comparison.
std::vector<int64_t> figures(const std::string& text) {
  const Profile p = read_text(text);
  const auto row = p.values(p.touched()[0]);
  return {row.begin(), row.end()};
}

const std::string frames = "\n\tntdll!RtlAllocateHeap+274\n\tbrew!main+2C\n\n";

}  // namespace

TEST_CASE("umdh: the blocks of a process, without names") {
  const Profile p = read_data("umdh/log.txt");
  const std::string kettle = "[brew.exe+0x1010];[brew.exe+0x1a2c];[ntdll.dll+0xf2933]";
  const std::string jit = "[unknown];[brew.exe+0x1b00];[ntdll.dll+0xf2933]";
  CHECK(stacks(p) == Stacks{{kettle, 0x60}, {jit, 0x118}});
  CHECK(stacks(p, "live_blocks") == Stacks{{kettle, 2}, {jit, 1}});
  CHECK(stacks(p, "overhead") == Stacks{{kettle, 0x58}, {jit, 0x28}});
  CHECK(p.meta.notes.empty());
  CHECK(stacks(read_data("umdh/log.txt", "", {.addresses = true}))
            .contains("206EDDA8BA0;7FF6E4A01B00;7FFE82352933"));
}

TEST_CASE("umdh: blocks as older versions add them up") {
  const Profile p = read_data("umdh/old.txt");
  const std::string boil = "main;Kettle::Boil;operator new;RtlAllocateHeap;RtlAllocateHeapSlowly";
  CHECK(stacks(p) == Stacks{{boil, 0x5320}, {"main;RtlAllocateHeap", 0x40}});
  CHECK(stacks(p, "live_blocks") == Stacks{{boil, 0x14}, {"main;RtlAllocateHeap", 1}});
}

TEST_CASE("umdh: a comparison of two logs, in hexadecimal and decimal") {
  for (const char* name : {"umdh/changes.txt", "umdh/changes-decimal.txt"}) {
    CAPTURE(name);
    const Profile p = read_data(name, "", {.lines = true});
    const std::string boil = "main;Kettle::Boil;operator new;RtlAllocateHeap";
    const std::string cup = "main;Cup::operator!=;RtlAllocateHeap",
                      gone = "[unknown];RtlAllocateHeap";
    CHECK(p.types[p.shown].name == "after");
    CHECK(stacks(p) == Stacks{{boil, 0xf110}, {cup, 0x40}, {gone, 0x100}});
    CHECK(stacks(p, "before") == Stacks{{boil, 0x9df0}, {gone, 0x300}});
    CHECK(stacks(p, "delta") == Stacks{{boil, 0x5320}, {cup, 0x40}, {gone, -0x200}});
    CHECK(stacks(p, "delta_blocks") == Stacks{{boil, 0x14}, {cup, 1}, {gone, -8}});
    CHECK(p.losses.lost_events() == 0);
    CHECK(p.meta.notes.size() == 1);
    const Frame& frame = p.frames[p.path(p.touched()[0])[1]];
    CHECK(p.strings[frame.module] == "brew");
    CHECK(p.strings[frame.file] == "c:\\brew\\src\\kettle.cc");
    CHECK(frame.line == 221);
  }
}

TEST_CASE("umdh: whether numbers are decimal is told by their differences, or said to be unknown") {
  CHECK(figures("+ 16 ( 32 - 16) 1 allocs BackTrace1\n" + frames) ==
        std::vector<int64_t>{16, 32, 16});
  CHECK(figures("+ 9 ( 18 - 9) 1 allocs BackTrace1\n" + frames) == std::vector<int64_t>{9, 18, 9});
  CHECK(figures("+ f ( 18 - 9) 1 allocs BackTrace1\n" + frames) ==
        std::vector<int64_t>{0x9, 0x18, 0xf});
  const std::string open = "+ 20 ( 40 - 20) 1 allocs BackTrace1\n" + frames;
  CHECK(figures(open) == std::vector<int64_t>{0x20, 0x40, 0x20});
  CHECK(has_note(read_text(open), "nothing tells whether the numbers are hexadecimal"));
  const std::string ten =
      "+ 6 ( 6 - 0) 1 allocs BackTrace1\n" + frames + "+ 6 ( 6 - 0) 1 allocs BackTrace2\n" + frames;
  CHECK(!has_note(read_text(ten + "Total increase == c\n"), "nothing tells"));
  // The sum tells it too.
  const std::string two = "+ 26 ( 26 - 0) 1 allocs BackTrace1\n" + frames +
                          "+ 26 ( 26 - 0) 1 allocs BackTrace2\n" + frames;
  CHECK(read_text(two + "Total increase == 52 requested + 8 overhead = 60\n").total(1) == 52);
  CHECK(read_text(two + "Total increase == 4c requested + 8 overhead = 54\n").total(1) == 0x4c);
}

TEST_CASE("umdh: what a comparison lacks is told") {
  const std::string change = "+ 5320 ( f110 - 9df0) 3a allocs BackTrace00B53 \n";
  const Profile bare = read_text(change + "Total increase == 5320 \n");
  CHECK(stacks(bare) == Stacks{{"[BackTrace00B53]", 0xf110}});
  CHECK(has_note(bare, "stacks that are not in the file: 1"));
  const Profile less =
      read_text(change + frames + "Total decrease == 10 requested + 0 overhead = 10\n");
  CHECK(has_note(less, "UMDH states a change of -16 B, its stacks make 21,280 B"));
  CHECK(less.losses[Loss::input_left_out].events == 1);
  const Profile odd = read_text("+ 5 ( f110 - 9df0) 3a allocs BackTrace1\n" + frames);
  CHECK(odd.losses[Loss::input_line].events == 1);
  CHECK(stacks(odd, "delta") == Stacks{{"main;RtlAllocateHeap", 0x5320}});
  const Profile lone = read_text(change + frames + "+ 3 ( 3 - 0) BackTrace9 allocations\n");
  CHECK(lone.losses[Loss::input_line].events == 1);
  CHECK(has_note(read_text(change + "\n\tntdll!Rtl"), "its last line may be cut off"));
  CHECK(has_note(read_text("*- - - - Start of data for heap @ 1 - - - -\n8 bytes + 8 at 1 by "
                           "BackTrace1\n\tntdll!f+1\n"),
                 "the last heap has no end"));
}

TEST_CASE("umdh: a file without blocks, and numbers beyond 64 bits") {
  CHECK(recognised("// Debug library initialized ...\n") == "umdh");
  CHECK(error_of("// Debug library initialized ...\n").find("no line like '30 bytes + 2C at") !=
        std::string::npos);
  CHECK(error_of("+ 1 ( ffffffffffffffff - 0) 1 allocs BackTrace1\n").find("64 bits") !=
        std::string::npos);
  const std::string most = "7fffffffffffffff bytes + 8 at 1 by BackTrace1\n\tf+1\n\n";
  CHECK(error_of(most + most).find("64 bits") != std::string::npos);
  const std::string grown = "+ 7fffffffffffffff ( 7fffffffffffffff - 0) 1 allocs BackTrace1\n";
  CHECK(error_of(grown + frames + grown + frames).find("64 bits") != std::string::npos);
  CHECK(error_of(most + grown + frames).find("give one log or one comparison") !=
        std::string::npos);
}
