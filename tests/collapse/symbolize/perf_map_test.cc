// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/perf_map.h"

#include <doctest/doctest.h>

#include <string>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("lines give start, size and name") {
  const PerfMap map("1000 20 first\n0x2000 0x10 second name with spaces\n3000 8 last line");
  CHECK(map.find(0xfff).empty());
  CHECK(map.find(0x1000) == "first");
  CHECK(map.find(0x101f) == "first");
  CHECK(map.find(0x1020).empty());
  CHECK(map.find(0x200f) == "second name with spaces");
  CHECK(map.find(0x3007) == "last line");
  CHECK(map.find(0x3008).empty());
}

TEST_CASE("not in order") {
  const PerfMap map("3000 10 c\n1000 10 a\n2000 10 b\n");
  CHECK(map.find(0x1005) == "a");
  CHECK(map.find(0x2005) == "b");
  CHECK(map.find(0x3005) == "c");
}

TEST_CASE("code that was thrown away and written over: the last line counts") {
  const PerfMap map(
      "1000 100 old\n"
      "1040 20 middle\n"
      "1050 20 new\n"
      "2000 10 before\n"
      "1ff0 30 around\n");
  CHECK(map.find(0x1000) == "old");
  CHECK(map.find(0x103f) == "old");
  CHECK(map.find(0x1040) == "middle");
  CHECK(map.find(0x1050) == "new");
  CHECK(map.find(0x106f) == "new");
  CHECK(map.find(0x1070) == "old");
  CHECK(map.find(0x10ff) == "old");
  CHECK(map.find(0x2005) == "around");
  CHECK(map.size() == 5);
}

TEST_CASE("lines that cannot be right are passed over") {
  const PerfMap map(
      "\n"
      "garbage\n"
      "1000\n"
      "1000 10\n"
      "1000 10 \n"
      "1000 0 empty\n"
      "1000 zz name\n"
      "-1 10 name\n"
      "10000000000000000 10 too long\n"
      "fffffffffffffff0 20 over the end\n"
      "1000 ffffffffffff0000 good\r\n"
      "\xff\xfe 10 name\n");
  CHECK(map.size() == 1);
  CHECK(map.find(0x1000) == "good");
  CHECK(map.find(0xfffffffffffff001).empty());
  CHECK(PerfMap("").find(0).empty());
  CHECK(PerfMap(std::string_view("1000 10 a\0b\n", 12)).find(0x1000) ==
        std::string_view("a\0b", 3));
}

TEST_CASE("long names are cut between characters") {
  const std::string longest(PerfMap::max_name, 'x');
  const std::string text =
      "1000 10 " + longest + "yyy\n2000 10 " + longest.substr(1) + "\xc3\xa4\n";
  const PerfMap map(text);
  CHECK(map.find(0x1000) == longest);
  CHECK(map.find(0x2000) == longest.substr(1));
}

TEST_CASE("the code of one JavaScript function has one name, whatever compiler made it") {
  for (const char* name : {"JS:~leaf /a.js:1:14", "JS:^leaf /a.js:1:14", "JS:+leaf /a.js:1:14",
                           "JS:*leaf /a.js:1:14", "JS:leaf /a.js:1:14"})
    CHECK(without_tier(name) == "JS:leaf /a.js:1:14");
  CHECK(without_tier("LazyCompile:*f /a.js:1") == "LazyCompile:f /a.js:1");
  CHECK(without_tier("JS:*") == "JS:");
  // Only the mark itself counts: a function may have such a name, and other programs write perf
  // maps, too.
  CHECK(without_tier("JS:**f") == "JS:*f");
  CHECK(without_tier("BytecodeHandler:Star0") == "BytecodeHandler:Star0");
  CHECK(without_tier("*operator") == "*operator");
  CHECK(without_tier("py::~f:a.py") == "py::~f:a.py");
  CHECK(without_tier("").empty());
}
