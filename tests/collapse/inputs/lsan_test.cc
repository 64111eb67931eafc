// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

bool has_note(const Profile& p, std::string_view part) {
  return std::any_of(p.meta.notes.begin(), p.meta.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

const std::string leak = "Direct leak of 96 byte(s) in 3 object(s) allocated from:\n";
const std::string summary = "\nSUMMARY: LeakSanitizer: 96 byte(s) leaked in 3 allocation(s).\n";

Stacks of_frames(const std::string& frames, const ReadOptions& options = {}) {
  return stacks(read_text(leak + frames + summary, "", options));
}

}  // namespace

TEST_CASE("lsan: what gcc's AddressSanitizer reports") {
  const Profile p = read_data("lsan/asan-gcc.txt", "", {.lines = true});
  const std::string list = "Node* app::lose_list<Node>(int);__interceptor_malloc";
  const std::string inlined = "app::lose_inlined();app::make(unsigned long);__interceptor_calloc";
  CHECK(stacks(p) == Stacks{{inlined, 1024}, {list, 32}});
  CHECK(stacks(p, "direct_objects") == Stacks{{inlined, 1}, {list, 1}});
  CHECK(stacks(p, "indirect") == Stacks{{list, 128}});
  CHECK(stacks(p, "indirect_objects") == Stacks{{list, 4}});
  CHECK(stacks(p, "direct", true)
            .contains("app::lose_inlined();app::make(unsigned long)_[i];__interceptor_calloc"));
  const Frame& frame = p.frames[p.path(p.touched()[1])[0]];
  CHECK(p.strings[frame.file] == "/tmp/leaks/leaks.cc");
  CHECK(frame.line == 17);
  CHECK(p.meta.notes.empty());
  CHECK(p.losses.lost_events() == 0);
}

TEST_CASE("lsan: what clang's AddressSanitizer reports") {
  const Profile p = read_data("lsan/asan-clang.txt", "", {.lines = true});
  const std::string list = "main;Node* app::lose_list<Node>(int);malloc";
  CHECK(stacks(p, "indirect") == Stacks{{list, 128}});
  const std::vector<FrameId> path = p.path(p.touched()[0]);
  REQUIRE(path.size() == 4);
  CHECK(p.strings[p.frames[path[3]].module] == "/tmp/leaks/clang_asan");
  CHECK(p.frames[path[2]].kind == FrameKind::inlined);
  CHECK(p.frames[path[2]].line == 29);
}

TEST_CASE("lsan: code without a name is its place in the file") {
  const Profile p = read_data("lsan/stripped.txt");
  CHECK(stacks(p) == Stacks{{"[stripped+0x118c];__interceptor_calloc", 1024},
                            {"[stripped+0x13d3];__interceptor_malloc", 32}});
  CHECK(p.frames[p.path(p.touched()[0])[0]].kind == FrameKind::unknown);
  CHECK(stacks(read_data("lsan/stripped.txt", "", {.addresses = true}))
            .contains("0x55555555518c;__interceptor_calloc"));
}

TEST_CASE("lsan: a report of the largest leaks only says so") {
  const Profile p = read_data("lsan/top.txt");
  CHECK(p.total(0) == 1056);
  CHECK(p.total(2) == 0);
  CHECK(has_note(p, "stacks that the report leaves out: 1; run"));
  CHECK(has_note(p, "the summary states 1,184 B in 6 allocations, the leaks are 1,056 B in 2"));
  CHECK(p.losses[Loss::input_left_out].events == 1);
}

TEST_CASE("lsan: frames of all forms") {
  CHECK(of_frames("    #0 0x1 in f(int, char const*) /my src/f 2.cc:12:5\n"
                  "    #1 0x2 in operator<<(a&, b<c>) x.cc:1\n"
                  "    #2 0x3 in void g<int>(int) const (/opt/a (x86)/lib x.so+0x12)\n"
                  "    #3 0x4 in main+0x1e (/bin/a+0x5)\n"
                  "    #4 0x5  (<unknown module>)\n"
                  "    #5 0x6 in <null> (/bin/b+0x7) (BuildId: 12ab)\n"
                  "    #6 0x7  (/bin/b+0x8)\n") ==
        Stacks{{"[b+0x8];[b+0x7];[unknown];main;void g<int>(int) const;operator<<(a&, b<c>);"
                "f(int, char const*)",
                96}});
  CHECK(of_frames("  #0 0x4 in main+0x1e (/bin/a+0x5)\n", {.offsets = true}) ==
        Stacks{{"main+0x1e", 96}});
  CHECK(of_frames("    <empty stack>\n") == Stacks{{"[no stack]", 96}});
  const Profile p =
      read_text(leak + "    #0 0x1 in f /my src/f 2.cc:12:5\n" + summary, "", {.lines = true});
  const Frame& frame = p.frames[p.path(p.touched()[0])[0]];
  CHECK(p.strings[frame.file] == "/my src/f 2.cc");
  CHECK(frame.line == 12);
}

TEST_CASE("lsan: other output, prefixes and errors may come between") {
  const Profile p = read_text(
      "start 5\n"
      "[12:00:01] ==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x6\n"
      "[12:00:01]     #0 0x1 in wrong a.c:1\n"
      "[12:00:02] " +
      leak +
      "[12:00:03]     #0 0x9 in malloc (/lib/a.so+0x1)\n"
      "something else #12\n"
      "[12:00:04]     #1 0xa in main a.c:3\n" +
      summary);
  CHECK(recognised(leak) == "lsan");
  CHECK(stacks(p) == Stacks{{"main;malloc", 96}});
  CHECK(has_note(p, "reports errors too, which are not leaks: 1"));
  const Profile two = read_text(leak + "    #0 0x9 in f a.c:1\n" + summary + leak +
                                "    #0 0x9 in f a.c:1\n" + summary);
  CHECK(two.total(0) == 192);
  CHECK(has_note(two, "reports of 2 processes are added up"));
}

TEST_CASE("lsan: a report that is cut, damaged, or about something else") {
  const Profile cut = read_text(leak + "    #0 0x9 in f a.c:1\n    #1 0xa in ma");
  CHECK(stacks(cut) == Stacks{{"ma;f", 96}});
  CHECK(has_note(cut, "ends in the middle of a stack: its last line may be cut off"));
  CHECK(has_note(read_text(leak + "    #0 0x9 in f a.c:1\n"), "there is no SUMMARY"));
  CHECK(error_of(leak, "", {.refuse_truncated = true}).find("ends in the middle") !=
        std::string::npos);
  const Profile odd = read_text(leak + "    #0 0x9 in f a.c:1\n    #5 0xa in g a.c:2\n" + summary);
  CHECK(odd.losses[Loss::input_line].events == 1);
  CHECK(error_of("Direct leak of 99999999999999999999 byte(s) in 1 object(s) allocated from:\n")
            .find("64 bits") != std::string::npos);
  const std::string most =
      "Direct leak of 9223372036854775807 byte(s) in 1 object(s) allocated from:\n";
  CHECK(error_of(most + most).find("64 bits") != std::string::npos);
  CHECK(error_of("==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000010\n") ==
        "text: it is a report of AddressSanitizer (heap-use-after-free), which has no figures by "
        "stack: of sanitizers' reports, leaks are read");
  CHECK(error_of("WARNING: ThreadSanitizer: data race (pid=7)\n").find("(data race)") !=
        std::string::npos);
  CHECK(error_of("a 1\n", "lsan").find("no leak like 'Direct leak of 32 byte(s)") !=
        std::string::npos);
}
