// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "collapse/input.h"
#include "collapse/text/lines.h"
#include "core/error.h"
#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

Profile read(const std::string& text, const ReadOptions& options = {}) {
  return read_text(text, "folded", options);
}

std::string refusal(const std::string& text) { return error_of(text, "folded"); }

FrameKind leaf_kind(const std::string& line) {
  const Profile p = read(line);
  return p.frames[p.path(p.touched()[0]).back()].kind;
}

}  // namespace

TEST_CASE("stacks of the same frames are one") {
  const Profile p = read("a;b 1\na;c 2\na;b 3\na 4\n");
  CHECK(stacks(p) == Stacks{{"a;b", 4}, {"a;c", 2}, {"a", 4}});
  CHECK(p.touched().size() == 3);
  CHECK(p.types == std::vector<ValueType>{{"count", Unit::count}});
  CHECK(p.losses.lost_events() == 0);
  CHECK(p.meta.notes.empty());
}

TEST_CASE("the number is what follows the last blank; the rest is names") {
  CHECK(stacks(read("main;worker 12 345\nmain 1\n")) ==
        Stacks{{"main;worker 12", 345}, {"main", 1}});
  CHECK(stacks(read("operator new(unsigned long) 8")) ==
        Stacks{{"operator new(unsigned long)", 8}});
  CHECK(stacks(read("a;b\t7\r\n\r\n   \nc 1   \n")) == Stacks{{"a;b", 7}, {"c", 1}});
  CHECK(stacks(read("a -5\nb 0\n")) == Stacks{{"a", -5}});
  CHECK(stacks(read("a  5")) == Stacks{{"a ", 5}});
  CHECK(stacks(read("a;;b 1\n;c 2\nd; 3\n 4\n")) ==
        Stacks{{"a;;b", 1}, {";c", 2}, {"d;", 3}, {"", 4}});
  CHECK(stacks(read("a 9223372036854775807\nb -9223372036854775808\n")) ==
        Stacks{{"a", INT64_MAX}, {"b", INT64_MIN}});
}

TEST_CASE("any bytes may be in a name") {
  const std::string name("\0\x01\xff <script>]]>\"'&\x7f\xe2\x80\xae#", 23);
  CHECK(stacks(read("a;" + name + " 1\n")) == Stacks{{"a;" + name, 1}});
}

TEST_CASE("marks at the end of a name, and brackets, tell its kind") {
  CHECK(leaf_kind("f 1") == FrameKind::user);
  CHECK(leaf_kind("f_[k] 1") == FrameKind::kernel);
  CHECK(leaf_kind("f_[i] 1") == FrameKind::inlined);
  CHECK(leaf_kind("f_[j] 1") == FrameKind::jit);
  CHECK(leaf_kind("f_[w] 1") == FrameKind::user);
  CHECK(leaf_kind("[lost: ring buffer full] 1") == FrameKind::note);
  CHECK(leaf_kind("[truncated: too deep] 1") == FrameKind::note);
  CHECK(leaf_kind("[anon] 1") == FrameKind::note);
  CHECK(leaf_kind("[libc.so.6+0x1f] 1") == FrameKind::unknown);
  CHECK(leaf_kind("[kernel 0xffff]_[k] 1") == FrameKind::kernel);
  CHECK(stacks(read("f_[k]_[k] 1")) == Stacks{{"f_[k]", 1}});
}

TEST_CASE("comments, and a byte order mark") {
  CHECK(stacks(read("\xEF\xBB\xBF# generated 2024\n#\n#\tx 1\na 1\n# b 2\n#c 3\n")) ==
        Stacks{{"a", 1}, {"#c", 3}});
}

TEST_CASE("lines without a number are counted, and the first one is told") {
  std::string text = "a 1\nno number\nb 1e9\nc .5\nalone\nd 4KiB\ne +3\n5\nf -\ng 1.2.3\n";
  for (int i = 0; i < 8; ++i) text += "a 1\n";
  const Profile p = read(text);
  CHECK(stacks(p) == Stacks{{"a", 9}});
  CHECK(p.losses[Loss::input_line].events == 9);
  CHECK(p.meta.notes ==
        std::vector<std::string>{
            "9 lines not understood (no number at its end), the first is line 2: 'no number'"});
  const Profile q = read(std::string(100, 'x') + "\na 1");
  CHECK(q.meta.notes[0] ==
        "1 line not understood (no number at its end): line 1: '" + std::string(60, 'x') + "…'");
}

TEST_CASE("nothing to read is an error that says why") {
  CHECK(refusal("") == "text: it is empty; expected lines like 'main;parse;f 4096'");
  CHECK(refusal("\n\n") == "text:2: no line has the form 'main;parse;f 4096'");
  CHECK(
      refusal("<svg>\n</svg>\n") ==
      "text:2: no line has the form 'main;parse;f 4096'; 2 lines not understood (no "
      "number at its end), the first is line 1: '<svg>'; it looks like a picture (SVG) of another "
      "tool: draw it from the stacks it was made of");
}

TEST_CASE("numbers and sums stay within 64 bits") {
  CHECK(refusal("a 1\na 9223372036854775808\n") ==
        "text:2: its number leaves the range of 64 bits");
  CHECK(refusal("a 9223372036854775807\na 1\n")
            .starts_with("text:2: a sum of values leaves the range of 64 bits"));
}

TEST_CASE("memflame's own comments carry what stacks alone do not") {
  const Profile p = read(
      "# memflame folded unit=bytes value=live total=5120\n"
      "# memflame title=\"Of \\\"my\\\" server\\\\ 3\"\n"
      "# memflame command=\"alloc -p 812\"\n"
      "# memflame host=\"web-3\"\n"
      "# memflame seconds=\"12.5\"\n"
      "# memflame sampling=\"1 in 97 faults\"\n"
      "# memflame roots=\"process\"\n"
      "# memflame reconciliation captured=5120 os=-1 name=\"VmRSS growth\"\n"
      "# memflame note=\"a note\"\n"
      "# memflame loss events=3 bytes=1024 name=\"ring_full\"\n"
      "server;main 4096\n"
      "[lost: ring buffer full] 1024\n");
  CHECK(p.types == std::vector<ValueType>{{"live", Unit::bytes}});
  CHECK(p.meta.title == "Of \"my\" server\\ 3");
  CHECK(p.meta.command == "alloc -p 812");
  CHECK(p.meta.host == "web-3");
  CHECK(p.meta.seconds == 12.5);
  CHECK(p.meta.sampling == "1 in 97 faults");
  CHECK(p.meta.notes == std::vector<std::string>{"a note"});
  REQUIRE(p.meta.reconciliation.size() == 1);
  CHECK(p.meta.reconciliation[0].name == "VmRSS growth");
  CHECK(p.meta.reconciliation[0].captured == 5120);
  CHECK(p.meta.reconciliation[0].os == -1);
  CHECK(p.losses[Loss::ring_full].events == 3);
  CHECK(p.losses[Loss::ring_full].bytes == 1024);
  CHECK(p.losses[Loss::input_line].events == 0);
  CHECK(p.frames[p.path(p.touched()[0])[0]].kind == FrameKind::process);
  CHECK(p.frames[p.path(p.touched()[0])[1]].kind == FrameKind::user);
  CHECK(p.frames[p.path(p.touched()[1])[0]].kind == FrameKind::note);
}

TEST_CASE("texts of one unit add up, also in what they lost; others are refused") {
  const std::string first =
      "# memflame folded unit=bytes value=live total=10\n# memflame host=\"a\"\n"
      "# memflame seconds=\"5\"\n# memflame loss events=1 bytes=2 name=\"ring_full\"\nf 10\n";
  const std::string second =
      "# memflame folded unit=bytes value=live total=20\n# memflame host=\"b\"\n"
      "# memflame seconds=\"5\"\n# memflame loss events=2 bytes=3 name=\"ring_full\"\nf 20\n";
  const Profile p = read(first + second);
  CHECK(stacks(p) == Stacks{{"f", 30}});
  CHECK(p.losses[Loss::ring_full].events == 3);
  CHECK(p.losses[Loss::ring_full].bytes == 5);
  CHECK(p.meta.host == "a + b");
  CHECK(p.meta.seconds == 0);
  CHECK(p.meta.notes.empty());
  CHECK(read(first + first).meta.host == "a");
  CHECK(read(first + second + second + first).meta.host == "a + b");
  CHECK(read(first + "# memflame host=\"\"\n").meta.host == "a");
  CHECK(refusal(first + "# memflame folded unit=pages value=gained total=1\n") ==
        "text:6: texts of live (bytes) and gained (pages) do not add up; collapse "
        "them one by one");
}

TEST_CASE("lines that were taken away or added are noticed") {
  const std::string header = "# memflame folded unit=bytes value=live total=5120\n";
  CHECK(read(header + "a 5120\n").meta.notes.empty());
  CHECK(
      read(header + "a 4096\n").meta.notes ==
      std::vector<std::string>{"the lines add up to 4,096, not to the 5,120 of their header: lines "
                               "were added or taken away"});
  // A run that captured nothing is not an error.
  CHECK(read("# memflame folded unit=bytes value=live total=0\n").touched().empty());
}

TEST_CASE("damaged comments of ours are counted, those of others are not") {
  for (const char* damaged :
       {"# memflame ", "# memflame folded unit=furlongs value=x total=1",
        "# memflame folded value=x total=1", "# memflame folded unit=bytes total=1",
        "# memflame folded unit=bytes value=x total=9x", "# memflame title=\"open",
        "# memflame title=\"x\"y", "# memflame title=\"\\", "# memflame =x",
        "# memflame colour=\"x\"", "# memflame seconds=\"nan\"",
        "# memflame loss events=1 bytes=2 name=\"no_such\"",
        "# memflame loss events=-1 bytes=2 name=\"ring_full\"",
        "# memflame reconciliation captured=1 name=\"x\""}) {
    CAPTURE(damaged);
    const Profile p = read(std::string(damaged) + "\na 1\n");
    CHECK(p.losses[Loss::input_line].events == 1);
    CHECK(p.types[0].name == "count");
  }
  CHECK(read("# memflamegraph is another tool\na 1\n").losses[Loss::input_line].events == 0);
}

TEST_CASE("the caller may know what the numbers are; the text knows better") {
  const ReadOptions options{.type = ValueType{"kept", Unit::bytes}};
  CHECK(read("a 1", options).types == std::vector<ValueType>{{"kept", Unit::bytes}});
  CHECK(read("# memflame folded unit=pages value=gained total=1\na 1", options).types ==
        std::vector<ValueType>{{"gained", Unit::pages}});
}

TEST_CASE("a line of a megabyte, ten thousand frames, and a line without an end") {
  const std::string name(1 << 20, 'x');
  CHECK(stacks(read("a;" + name + " 1\n")) == Stacks{{"a;" + name, 1}});
  std::string deep = "f";
  for (int i = 1; i < 10000; ++i) deep += ";f";
  const Profile p = read(deep + " 1\n" + deep + ";g 2\n");
  CHECK(p.path(p.touched()[1]).size() == 10001);
  CHECK(p.stacks.size() == 10002);
}

TEST_CASE("lines end with or without a carriage return, or with the text") {
  // Longer than the buffer, so that a line comes from several reads.
  const std::string filler(3 << 20, 'y');
  Source source = Source::of_memory("a\r\n\n" + filler + "\nlast");
  Lines lines(source);
  std::vector<std::string> got;
  while (lines.next()) got.emplace_back(lines.line());
  CHECK(got == std::vector<std::string>{"a", "", filler, "last"});
  CHECK(lines.number() == 4);
}

TEST_CASE("public samples") {
  const auto folder = corpus("folded");
  if (!folder) return;
  const auto file = [&](const char* name) { return read(file_text(*folder / name)); };
  const Stacks simple{{"a;b;c", 5}, {"a;b;d", 4}, {"a;b", 5}};
  CHECK(stacks(file("simple-crlf.txt")) == simple);
  CHECK(stacks(file("simple-utf16-le.txt")) == simple);
  const Profile invalids = file("simple-with-invalids.txt");
  CHECK(stacks(invalids) == simple);
  CHECK(invalids.losses[Loss::input_line].events == 2);
  CHECK(stacks(file("alternating.txt")) == Stacks{{"a;b", 91}, {"c;d", 91}});
  const Profile recursion = file("recursion.txt");
  CHECK(stacks(recursion) == Stacks{{"a;a", 1},
                                    {"b;b", 1},
                                    {"a;b", 1},
                                    {"a;b;a;b", 2},
                                    {"a;b;a;c", 2},
                                    {"a;b;a;b;a;b", 1},
                                    {"a;b;a;b;c", 2}});
}

TEST_CASE("lines in the order of time") {
  const std::string text = "a;b 1\na;c 1\na;b 1\na;b 2\n";
  const Profile p = read_text(text, "folded", {.threads = 2, .in_order = true});
  REQUIRE(p.rows() == 3);
  CHECK(p.row(0).stack == p.row(2).stack);
  CHECK(p.row(2).values[0] == 3);
  CHECK(read_text(text, "folded").rows() == 2);
}

TEST_CASE("a last line without an end is kept, or refused") {
  CHECK(stacks(read("a;b 3\na;c 4")) == Stacks{{"a;b", 3}, {"a;c", 4}});
  const ReadOptions refuse{.refuse_truncated = true};
  CHECK(error_of("a;b 3\na;c 4", "folded", refuse) == "text:2: the last line has no end");
  CHECK(error_of("a;b 3\na;c", "folded", refuse) == "text:2: the last line has no end");
  CHECK(error_of("a;b 3\na;c 4\n", "folded", refuse).empty());
}
