// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <random>
#include <sstream>

#include "collapse/input.h"
#include "render/output.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::string folded(const Profile& p, bool header = false) {
  std::ostringstream out;
  write_folded(out, p, {.header = header});
  return out.str();
}

Profile read(const std::string& text) {
  Source source = Source::of_memory(text);
  return read_folded(source, {});
}

Profile bytes() {
  Profile p;
  p.types = {{"live", Unit::bytes}};
  return p;
}

void push(Profile& p, std::initializer_list<std::string_view> path, int64_t value,
          FrameKind kind = FrameKind::user) {
  StackId stack;
  for (const std::string_view frame : path) stack = p.push(stack, frame, kind);
  p.add(stack, std::array{value});
}

}  // namespace

TEST_CASE("one line per stack, in bytewise order, without zeros") {
  Profile p = bytes();
  push(p, {"b"}, 1);
  push(p, {"a", "b"}, 2);
  push(p, {"a", "b-c"}, 3);
  push(p, {"a"}, -4);
  push(p, {"zero"}, 0);
  CHECK(folded(p) == "a -4\na;b 2\na;b-c 3\nb 1\n");
}

TEST_CASE("the shown column is written") {
  Profile p;
  p.types = {{"live", Unit::bytes}, {"live-count", Unit::count}};
  p.shown = 1;
  p.add(p.push({}, "f"), std::array<int64_t, 2>{4096, 3});
  p.add(p.push({}, "g"), std::array<int64_t, 2>{4096, 0});
  CHECK(folded(p) == "f 3\n");
}

TEST_CASE("names cannot break a line or make two frames of one") {
  Profile p = bytes();
  push(p, {"a;b", "c\nd 5", "e\xff\r"}, 1);
  push(p, {"# no comment", "# inside"}, 2);
  push(p, {"#"}, 4);
  push(p, {"#", "f"}, 8);
  CHECK(folded(p) ==
        "#;f 8\n_ 4\n_ no comment;# inside 2\n"
        "a:b;c\xEF\xBF\xBD"
        "d 5;e\xEF\xBF\xBD\xEF\xBF\xBD 1\n");
  CHECK(read(folded(p)).total(0) == 15);
}

TEST_CASE("stacks that read the same are one line") {
  Profile p = bytes();
  p.add(p.push({}, "f", FrameKind::user, "lib", "a.c", 1), std::array<int64_t, 1>{1});
  p.add(p.push({}, "f", FrameKind::user, "lib", "a.c", 2), std::array<int64_t, 1>{2});
  p.add(p.push({}, "f", FrameKind::kernel), std::array<int64_t, 1>{4});
  CHECK(folded(p) == "f 3\nf_[k] 4\n");
}

TEST_CASE("kinds are marked") {
  Profile p = bytes();
  push(p, {"k"}, 1, FrameKind::kernel);
  push(p, {"i"}, 1, FrameKind::inlined);
  push(p, {"j"}, 1, FrameKind::jit);
  push(p, {"[libc.so.6+0x10]"}, 1, FrameKind::unknown);
  push(p, {"[lost: too many]"}, 1, FrameKind::note);
  CHECK(folded(p) == "[libc.so.6+0x10] 1\n[lost: too many] 1\ni_[i] 1\nj_[j] 1\nk_[k] 1\n");
}

TEST_CASE("the header says what the stacks do not, in comments that no tool takes for a stack") {
  Profile p = bytes();
  push(p, {"server"}, 5120, FrameKind::process);
  p.meta = {.title = "Of \"mine\" 3",
            .command = "memflame alloc -p 812",
            .host = "web-3",
            .seconds = 12.5,
            .sampling = "1 in 97 faults",
            .reconciliation = {{"VmRSS growth", 5120, -1}},
            .notes = {"note\n12"}};
  p.losses.add(Loss::ring_full, 3, 1024);
  p.push({}, "unused\xff");
  const std::string text = folded(p, true);
  CHECK(text ==
        "# memflame folded unit=bytes value=live total=5120\n"
        "# memflame title=\"Of \\\"mine\\\" 3\"\n"
        "# memflame command=\"memflame alloc -p 812\"\n"
        "# memflame host=\"web-3\"\n"
        "# memflame seconds=\"12.5\"\n"
        "# memflame sampling=\"1 in 97 faults\"\n"
        "# memflame roots=\"process\"\n"
        "# memflame reconciliation captured=5120 os=-1 name=\"VmRSS growth\"\n"
        "# memflame note=\"note\xEF\xBF\xBD"
        "12\"\n"
        "# memflame loss events=3 bytes=1024 name=\"ring_full\"\n"
        "# memflame loss events=2 bytes=0 name=\"replaced_bytes\"\n"
        "server 5120\n");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("#")) CHECK(line.find_last_not_of("0123456789.") != line.rfind(' '));
}

TEST_CASE("a title that is asked for beats the profile's") {
  Profile p = bytes();
  p.meta.title = "first";
  std::ostringstream out;
  write_folded(out, p, {.title = "second"});
  CHECK(out.str().find("title=\"second\"") != std::string::npos);
  CHECK(out.str().find("first") == std::string::npos);
}

TEST_CASE("a value's name that is not a word cannot break the header") {
  Profile p;
  p.types = {{"bytes \"kept\"\nf 1", Unit::bytes}};
  push(p, {"f"}, 2);
  const Profile back = read(folded(p, true));
  CHECK(back.types[0].unit == Unit::bytes);
  CHECK(back.total(0) == 2);
  CHECK(back.losses[Loss::input_line].events == 0);
  p.types[0].name = "";
  CHECK(read(folded(p, true)).types[0].name == "value");
}

TEST_CASE("what is read is written as it was, and what is written is read as it was") {
  std::minstd_rand random(7);
  const std::string letters = "ab ;_[]k+0x#-()<>\"'&\\:.";
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> lines;
    for (int i = 0; i < 20; ++i) {
      std::string line;
      for (size_t n = random() % 12; n > 0; --n) line += letters[random() % letters.size()];
      if (line == "#" || line.starts_with("# ")) line[0] = 'x';
      lines.push_back(line + " " + std::to_string(1 + random() % 1000));
    }
    std::sort(lines.begin(), lines.end());
    std::string text;
    const auto stack = [](const std::string& line) { return line.substr(0, line.rfind(' ')); };
    for (size_t i = 0; i < lines.size(); ++i)
      if (i == 0 || stack(lines[i]) != stack(lines[i - 1])) text += lines[i] + "\n";
    const Profile p = read(text);
    const std::string once = folded(p);
    // Sorting whole lines and sorting stacks differ where one stack begins another.
    std::vector<std::string> got;
    std::istringstream in(once);
    for (std::string line; std::getline(in, line);) {
      std::replace(line.begin(), line.end(), '\t', ' ');  // behind names that end in numbers
      got.push_back(line);
    }
    std::sort(got.begin(), got.end());
    std::string sorted;
    for (const std::string& line : got) sorted += line + "\n";
    CHECK(sorted == text);
    CHECK(folded(read(folded(p, true)), true) == folded(p, true));
  }
}

TEST_CASE("variances are not values of their own") {
  Profile p;
  p.types = {{"live", Unit::bytes, 1}, {"live variance", Unit::variance}};
  p.add(p.push({}, "main"), std::array<int64_t, 2>{5, 9});
  p.add(p.push({}, "none"), std::array<int64_t, 2>{0, 9});
  std::ostringstream out;
  write_folded(out, p, {});
  CHECK(out.str() == "# memflame folded unit=bytes value=live total=5\nmain 5\n");
}
