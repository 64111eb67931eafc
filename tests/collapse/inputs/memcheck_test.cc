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

bool is_refused(const std::string& text, const std::string& why) {
  return error_of(text, "memcheck").find(why) != std::string::npos;
}

ReadOptions of_check(uint64_t first) {
  return {.snapshot = {.kind = WhichSnapshot::Kind::number, .first = first}};
}

const std::string at = "main;lose_all();";
const std::string list = at + "Node* app::lose_list<Node>(int);malloc";

const std::string record =
    "==7== 1,024 bytes in 2 blocks are definitely lost in loss record 1 of 1\n"
    "==7==    at 0x1: malloc (in /lib/vg.so)\n"
    "==7==    by 0x2: main (a.c:5)\n"
    "==7== \n";
const std::string sums =
    "==7== LEAK SUMMARY:\n"
    "==7==    definitely lost: 1,024 bytes in 2 blocks\n";

}  // namespace

TEST_CASE("memcheck: each kind of leak is a column") {
  const Profile p = read_data("memcheck/all.txt", "", {.lines = true});
  CHECK(stacks(p, "definitely") ==
        Stacks{{at + "app::lose_inlined();make;calloc", 1024}, {list, 32}});
  CHECK(stacks(p, "definitely_blocks") ==
        Stacks{{at + "app::lose_inlined();make;calloc", 1}, {list, 1}});
  CHECK(stacks(p, "indirectly") == Stacks{{list, 128}});
  CHECK(stacks(p, "indirectly_blocks") == Stacks{{list, 4}});
  CHECK(stacks(p, "possibly") == Stacks{{at + "malloc", 500}});
  CHECK(stacks(p, "reachable") == Stacks{{at + "malloc", 4000}});
  CHECK(p.types[p.shown].name == "definitely");
  CHECK(p.meta.command == "memcheck ./plain");
  CHECK(p.meta.notes.empty());
  CHECK(p.losses.lost_events() == 0);
}

TEST_CASE("memcheck: text and XML are the same, inlined functions too") {
  const Profile text = read_data("memcheck/inlined.txt"), xml = read_data("memcheck/inlined.xml");
  for (const char* name : {"definitely", "definitely_blocks", "indirectly", "indirectly_blocks",
                           "possibly", "possibly_blocks", "reachable", "reachable_blocks"})
    CHECK(stacks(text, name, true) == stacks(xml, name, true));
  CHECK(stacks(xml, "definitely", true)[at + "app::lose_inlined();make_[i];calloc"] == 1024);
  CHECK(
      stacks(read_data("memcheck/inlined.txt", "", {.pid = true})).begin()->first.find(";main;") !=
      std::string::npos);
  const Profile lines = read_data("memcheck/inlined.xml", "", {.lines = true});
  const Frame& frame = lines.frames[lines.path(lines.touched()[0])[0]];
  CHECK(lines.strings[frame.file] == "/tmp/leaks/leaks.cc");
  CHECK(frame.line == 54);
  CHECK(lines.strings[frame.module] == "/tmp/leaks/plain");
}

TEST_CASE("memcheck: the last check of each process, or another one") {
  const std::string lose = "main;lose;malloc";
  const Profile p = read_data("memcheck/forks.txt");
  CHECK(stacks(p) == Stacks{{lose, 600 + 1600}});
  CHECK(has_note(p, "leak checks of 2 processes are added up"));
  CHECK(has_note(p, "the last leak check of each process; there are up to 4"));
  const Profile first = read_data("memcheck/forks.txt", "", of_check(1));
  CHECK(stacks(first) == Stacks{{lose, 100 + 1600}});
  // What has been added since then, as the log has it.
  const Profile added = read_data("memcheck/forks.txt", "", of_check(2));
  CHECK(stacks(added) == Stacks{{lose, 500}});
  CHECK(has_note(added, "definitely lost 600 B in 3 blocks, of which 500 B in 2 blocks have a"));
  const Profile grown =
      read_data("memcheck/forks.txt", "",
                {.snapshot = {.kind = WhichSnapshot::Kind::difference, .first = 1, .second = 4}});
  CHECK(stacks(grown) == Stacks{{lose, 500}});
  CHECK(has_note(grown, "leak check 4 minus leak check 1"));
}

TEST_CASE("memcheck: what the log does not show is said") {
  const Profile p = read_text(record + sums +
                              "==7==    indirectly lost: 8 bytes in 1 blocks\n"
                              "==7==         suppressed: 16 bytes in 2 blocks\n");
  CHECK(recognised(record) == "memcheck");
  CHECK(stacks(p) == Stacks{{"main;malloc", 1024}});
  CHECK(has_note(p, "indirectly lost 8 B in 1 blocks, of which 0 B in 0 blocks have a stack"));
  CHECK(has_note(p, "suppressed, and in no stack: 16 B in 2 blocks"));
  CHECK(is_refused(sums, "has sums and no stacks"));
  CHECK(
      is_refused("==7== All heap blocks were freed -- no leaks are possible\n", "found no leaks"));
  CHECK(is_refused("==7== Memcheck, a memory error detector\n", "no leak check in it"));
  CHECK(error_of(record, "", of_check(2)).find("they have 1 to 1") != std::string::npos);
  CHECK(error_of("==7== Helgrind, a thread error detector\n").find("a log of valgrind, which") !=
        std::string::npos);
}

TEST_CASE("memcheck: only other kinds, other output between, frames without names") {
  const Profile p = read_text(
      "2026-01-01 ==7== 9 bytes in 1 blocks are still reachable in loss record 1 of 2\n"
      "hello\n"
      "==8== 7 bytes in 1 blocks are still reachable in loss record 1 of 1\n"
      "2026-01-01 ==7==    at 0x1: ??? (in /lib/x.so)\n"
      "==8==    at 0x1: g (b.c:1)\n"
      "2026-01-01 ==7==    by 0x2: f(int) (a.c:5)\n"
      "==7==\n"
      "==7== 5 bytes in 1 blocks are still reachable in loss record 2 of 2\n");
  CHECK(p.types[p.shown].name == "reachable");
  CHECK(stacks(p) == Stacks{{"f(int);[x.so]", 9}, {"g", 7}, {"[no stack]", 5}});
}

TEST_CASE("memcheck: cut and damaged logs") {
  const std::string banner = "==7== Memcheck, a memory error detector\n";
  CHECK(has_note(read_text(banner + record), "a leak check has no LEAK SUMMARY"));
  CHECK(read_text(record).meta.notes.empty());  // as valgrind -q writes it
  CHECK(has_note(read_text(record.substr(0, record.size() - 12)), "may be cut off"));
  CHECK(
      is_refused("==7== 99999999999999999999 bytes in 1 blocks are definitely lost in loss record "
                 "1 of 1\n",
                 "64 bits"));
  const std::string xml = file_text(std::string(TEST_DATA) + "/inputs/memcheck/inlined.xml");
  const size_t last = xml.rfind("<error>");
  const Profile cut = read_text(xml.substr(0, last + 90));
  CHECK(cut.total(column(cut, "definitely")) == 1056);
  // Between two leaks, and within the frames of one.
  const Profile whole = read_text(xml.substr(0, last)), fewer = read_text(xml.substr(0, last - 40));
  CHECK(whole.total(column(whole, "definitely")) == 1056);
  CHECK(fewer.total(column(fewer, "definitely")) == 32);
  CHECK(cut.total(column(cut, "reachable")) == 0);
  CHECK(has_note(cut, "ends in the middle of the XML"));
  CHECK(error_of(xml.substr(0, xml.size() / 2), "", {.refuse_truncated = true})
            .find("ends in the middle") != std::string::npos);
  std::string other = xml;
  other.replace(other.find("<leakedbytes>160"), 16, "<leakedbytes>161");
  const Profile odd = read_text(other);
  CHECK(odd.total(column(odd, "definitely")) == 1024);
  CHECK(odd.losses[Loss::input_line].events == 1);
}
