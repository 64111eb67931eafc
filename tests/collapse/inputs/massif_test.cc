// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "collapse/inputs/heap/valgrind_label.h"
#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

const std::string header = "desc: --depth=9\ncmd: ./server -x\ntime_unit: i\n";

std::string snapshot(int number, const std::string& heap, const std::string& tree) {
  return "#-----------\nsnapshot=" + std::to_string(number) +
         "\n#-----------\ntime=" + std::to_string(number * 1000) + "\nmem_heap_B=" + heap +
         "\nmem_heap_extra_B=7\nmem_stacks_B=9\nheap_tree=" + tree + "\n";
}

const std::string functions = " (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n";

const std::string text =
    header + snapshot(0, "0", "empty") +
    snapshot(1, "5000000000",
             "peak\nn3: 5000000000" + functions +
                 " n2: 4999999000 0x1091B2: make(int) (a.c:6)\n"
                 "  n0: 4999998000 0x1091F8: main (a.c:7)\n"
                 "  n0: 1000 in 3 places, all below massif's threshold (01.00%)\n"
                 " n0: 900 0x50: ??? (in /lib/libx.so.1)\n"
                 " n0: 100 in 1 place, below massif's threshold (01.00%)\n") +
    snapshot(2, "70", "detailed\nn1: 70" + functions + " n0: 70 0x1091F8: main (a.c:7)\n") +
    snapshot(3, "60", "empty");

ReadOptions at(WhichSnapshot::Kind kind, uint64_t first, uint64_t second = 0) {
  ReadOptions options;
  options.snapshot = {kind, first, second};
  return options;
}

bool has_note(const Profile& p, std::string_view part) {
  return std::any_of(p.meta.notes.begin(), p.meta.notes.end(),
                     [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("massif: the peak, callers first") {
  CHECK(recognised(text) == "massif");
  const Profile p = read_text(text);
  CHECK(stacks(p) == Stacks{{"main;make(int)", 4999998000},
                            {"[below massif's threshold];make(int)", 1000},
                            {"[libx.so.1]", 900},
                            {"[below massif's threshold]", 100}});
  CHECK(p.types == std::vector<ValueType>{{"heap", Unit::bytes}});
  CHECK(p.meta.title == "massif");
  CHECK(p.meta.command == "massif --depth=9 ./server -x");
  CHECK(has_note(p, "snapshot 1 of 4, the peak, at 1,000 instructions: 5,000,000,000 B"));
  CHECK(has_note(p, "beside it 7 B of the heap's own administration; beside it 9 B of stacks"));
  CHECK(p.losses.lost_events() == 0);
}

TEST_CASE("massif: any snapshot by its number, and the difference of two") {
  using Kind = WhichSnapshot::Kind;
  CHECK(stacks(read_text(text, {}, at(Kind::number, 2))) == Stacks{{"main", 70}});
  CHECK(stacks(read_text(text, {}, at(Kind::number, 3))) ==
        Stacks{{"[a snapshot without stacks]", 60}});
  CHECK(stacks(read_text(text, {}, at(Kind::difference, 0, 2))) == Stacks{{"main", 70}});
  const Profile p = read_text(text, {}, at(Kind::difference, 1, 2));
  CHECK(p.total(0) == 70 - 5000000000);
  CHECK(stacks(p)["main"] == 70);
  CHECK(stacks(p)["main;make(int)"] == -4999998000);
  CHECK(error_of(text, {}, at(Kind::number, 4)).find("no snapshot 4; it has 4, from 0 on") !=
        std::string::npos);
  CHECK(error_of(text, {}, at(Kind::difference, 0, 9)).find("no snapshot 9") != std::string::npos);
}

TEST_CASE("massif: without a peak the last tree, without a tree the last sum") {
  const std::string tree = "detailed\nn1: 8" + functions + " n0: 8 0x1: f (a.c:1)\n";
  CHECK(stacks(read_text(header + snapshot(0, "8", tree) + snapshot(1, "9", "empty"))) ==
        Stacks{{"f", 8}});
  CHECK(stacks(read_text(header + snapshot(0, "5021305210", "empty"))) ==
        Stacks{{"[a snapshot without stacks]", 5021305210}});
}

TEST_CASE("massif: of several peaks the highest, of equal ones the last") {
  const auto peak = [](int number, const std::string& bytes) {
    return snapshot(number, bytes,
                    "peak\nn1: " + bytes + functions + " n0: " + bytes + " 0x1: f" +
                        std::to_string(number) + " (a.c:1)\n");
  };
  CHECK(stacks(read_text(header + peak(1, "8") + peak(2, "9") + peak(3, "9") + peak(4, "2"))) ==
        Stacks{{"f3", 9}});
}

TEST_CASE("massif: labels") {
  const auto all = [](std::string_view label) {
    const ValgrindLabel l = parse_valgrind_label(label);
    return std::string(l.address) + "|" + std::string(l.function) + "|" + std::string(l.module) +
           "|" + std::string(l.file) + "|" + std::to_string(l.line);
  };
  CHECK(all("0x70B8B64: A::A(char const*, int) (a b.cpp:12)") ==
        "0x70B8B64|A::A(char const*, int)||a b.cpp|12");
  CHECK(all("0x651D960: ??? (in /usr/lib/x (y)/libk.so.4)") ==
        "0x651D960||/usr/lib/x (y)/libk.so.4||0");
  CHECK(all("0x5050ABB: (below main) (libc-start.c:220)") ==
        "0x5050ABB|(below main)||libc-start.c|220");
  CHECK(all("0x1: (below main)") == "0x1|(below main)|||0");
  CHECK(all("0x0: ???") == "0x0||||0");
  CHECK(all("0x1: a(b:2)") == "0x1|a(b:2)|||0");
  CHECK(all("0x1: operator() const (x.h:4)") == "0x1|operator() const||x.h|4");
  CHECK(all("0xG: f") == "|0xG: f|||0");
  CHECK(all("f (in /b)") == "|f|/b||0");
  CHECK(all("") == "||||0");
  ReadOptions options;
  options.addresses = options.lines = true;
  const Profile p = read_text(text, {}, options);
  CHECK(stacks(p)["0x50"] == 900);
  CHECK(p.frames[p.path(p.touched()[0])[0]].line == 7);
}

TEST_CASE("massif: pages of the whole process") {
  const Profile p =
      read_text(header + snapshot(0, "4096",
                                  "detailed\nn1: 4096 (page allocation syscalls) mmap/mremap/brk, "
                                  "--alloc-fns, etc.\n n0: 4096 0x0: ???\n"));
  CHECK(stacks(p) == Stacks{{"[unknown]", 4096}});
  CHECK(has_note(p, "all pages are counted"));
}

TEST_CASE("massif: what a tree lacks stays with its nodes, and is told") {
  std::string cut = header + snapshot(1, "100",
                                      "peak\nn2: 100" + functions +
                                          " n2: 90 0x1: f (a.c:1)\n  n0: 40 0x2: main (a.c:2)\n"
                                          "  n0: 3");
  cut.pop_back();
  const Profile p = read_text(cut);
  CHECK(stacks(p) == Stacks{{"f", 50}, {"main;f", 40}, {"[no stack]", 10}});
  CHECK(p.total(0) == 100);
  CHECK(has_note(p, "in the middle of a line"));
  CHECK(has_note(p, "other children than it says"));
  ReadOptions options;
  options.refuse_truncated = true;
  CHECK(error_of(cut, {}, options).find("in the middle") != std::string::npos);

  const Profile q =
      read_text(header +
                snapshot(1, "5",
                         "peak\nn1: 4" + functions +
                             " n0: 1 0x3: f (a.c:3)\n   n0: 4 0x1: deep (a.c:1)\nhello\nn0: 9 x\n"
                             "n: 3 y\n n0: -1 z\n") +
                "unheard=of\n");
  CHECK(q.total(0) == 4);
  CHECK(has_note(q, "not the sum of the snapshot"));
  CHECK(q.losses[Loss::input_line].events >= 6);
}

TEST_CASE("massif: hostile numbers") {
  CHECK(error_of(header + snapshot(1, "9223372036854775808", "empty")).find("64 bits") !=
        std::string::npos);
  CHECK(error_of(header + snapshot(1, "5", "peak\nn1: 99999999999999999999 x\n")).find("64 bits") !=
        std::string::npos);
  CHECK(error_of(header).find("no snapshot") != std::string::npos);
  const std::string deep = [] {
    std::string lines = "peak\nn1: 1" + functions;
    for (size_t i = 1; i < 2000; ++i) lines += std::string(i, ' ') + "n1: 1 0x1: f (a.c:1)\n";
    return lines;
  }();
  const Profile p = read_text(header + snapshot(1, "1", deep));
  CHECK(p.path(p.touched()[0]).size() == 1999);
}

TEST_CASE("massif: public samples") {
  const auto folder = corpus("massif");
  if (!folder) return;
  CHECK(stacks(read_text(file_text(*folder / "massif.out.huge"))) ==
        Stacks{{"[a snapshot without stacks]", 5021305210}});
  for (const char* name : {"massif.out.kate2", "massif.out.stack"}) {
    const std::string sample = file_text(*folder / name);
    CHECK(recognised(sample) == "massif");
    CHECK(read_text(sample).losses.lost_events() == 0);
    size_t found = 0;
    uint64_t number = 0, trees = 0;
    constexpr std::string_view key = "\nmem_heap_B=";
    for (; (found = sample.find(key, found + 1)) != std::string::npos; ++number) {
      const int64_t heap = std::stoll(sample.substr(found + key.size()));
      const Profile p = read_text(sample, {}, at(WhichSnapshot::Kind::number, number));
      CHECK(p.total(0) == heap);
      if (!has_note(p, "no stacks of it")) ++trees;
      for (const StackId stack : p.touched()) CHECK(p.values(stack)[0] > 0);
    }
    CHECK(number > 10);
    CHECK(trees > 10);
  }
  const Profile kate = read_text(file_text(*folder / "massif.out.kate2"));
  CHECK(has_note(kate, ", the peak,"));
}
