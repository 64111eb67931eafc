// SPDX-License-Identifier: BSD-2-Clause
// What is recognised as folded text, which has no signature, and which formats are refused by name.
#include <doctest/doctest.h>

#include <protozero/pbf_writer.hpp>

#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

using namespace std::string_literals;

bool refused(const std::string& text, const std::string& why, std::string_view from = {}) {
  const std::string error = error_of(text, from);
  CAPTURE(error);
  const bool found = error.find(why) != std::string::npos;
  CHECK(found);
  return found;
}

}  // namespace

TEST_CASE("folded text is told by most of its lines, whatever its names and numbers are") {
  for (const char* text :
       {"f 12", "main;parse;f 4096\n", "operator new(unsigned long) 5\n[unknown] 3\n",
        "?? 1\n0x7ffe1 2\n", "java;Lcom/x;run_[j] 12\nbash 5\n",
        "a b;c d e 5\n\n# a comment\nx 1.5\n", "a;b -5 7\na;c 0 -1\n", "a;b\t12\r\nc;d\t1\r\n",
        "[unknown];main 5\n", "{closure};f 2\n", "[[heap]];f 2\n", "a;b 1\nlost line\nc;d 2\n",
        "BZhang;f 1\n", "MZ;f 1\n", "a;b 1\nx=\ny: 3\n"})
    CHECK_MESSAGE(recognised(text) == "folded", text);
}

TEST_CASE("a text of which some line ends in a number is not folded text") {
  for (const char* text :
       {"# Title\n\nSome prose in two lines; of which one ends in 17\nand more.\n",
        "#define A 1\n#define B 2\n", "net.ipv4.x = 5\n", "port: 80\nsize: 5\n", "1 2 3\n4 5 6\n",
        "0.5 12\n", "a 1\nb 2\nand others\n", "a;b\nc;d\ne;f 1\n"})
    CHECK_MESSAGE(recognised(text) == "", text);
  refused("Hello\nworld 5\nagain\n", "1 of its first 3 lines end in a number");
  CHECK(stacks(read_text("a 1\nb 2\nand others\n", "folded")) == Stacks{{"a", 1}, {"b", 2}});
}

TEST_CASE(
    "folded text of which more than half is not understood is an error, also when asked for") {
  const std::string half = "a;b 1\nx\n", more = half + "y\n";
  CHECK(read_text(half, "folded").losses[Loss::input_line].events == 1);
  refused(more,
          "it is not folded text: 2 lines not understood (no number at its end), the first "
          "is line 2: 'x', and only 1 have the form",
          "folded");
  // After the part that recognises it.
  std::string late;
  for (int i = 0; i < 10000; ++i) late += "main;function" + std::to_string(i) + " 1\n";
  for (int i = 0; i < 10001; ++i) late += "no number\n";
  refused(late, "it is not folded text: 10,001 lines");
  refused("PeriodType: space bytes\na\nb 1\n", "it looks like what 'pprof -raw' prints", "folded");
}

TEST_CASE("what is packed or is not text is refused by name, whatever it is said to be") {
  for (const auto& [text, why] : std::initializer_list<std::pair<std::string, std::string>>{
           {"7z\xbc\xaf\x27\x1c a;b 1\n", "packed with 7-Zip"},
           {"Rar!\x1a\x07 a;b 1\n", "packed with rar"},
           {"\x7f"
            "ELF a;b 1\n",
            "an ELF file"},
           {"memray\0\x0b"s,
            "a capture file of memray, which only the same version of memray reads"},
           {"\x14\0\0\0!FastSerialization.1"s, "a heap dump of .NET (gcdump)"},
           {"Nettrace\x14"s, "a trace of .NET: convert it"},
           {"JAVA PROFILE 1.0.2\n", "a heap dump of Java"}}) {
    refused(text, why);
    refused(text, why, "folded");
  }
  refused("a;b 1\nc;\0d 2\n"s, "it is a binary file of no format that is read");
  refused(R"({"traceEvents": [ 1 ]})"s, "a trace of Chrome's");
  refused(R"({"nodes": [], "timeDeltas": [1 ]})"s, "a CPU profile of V8");
  refused("<!DOCTYPE html>\n<title>x</title>\n", "a web page, and not one of memflame's");
  refused("[\n {\"a;b\": \n1 }]", "it is JSON, but of no format that is read");
}

TEST_CASE("texts that other tools print of profiles are refused by name") {
  refused("File: x\nType: cpu\nShowing nodes accounting for 5ms, 50% of 10ms total\n f 5\n",
          "what 'pprof -top' or '-peek' prints: give the profile itself");
  refused("PeriodType: space bytes\nPeriod: 524288\nSamples:\n 1 2: 3 4 \n", "'pprof -raw'");
  refused("--- contention:\ncycles/second=2100000000\n1 2 @ 0x1\n", "a contention profile");
  refused("==12== Helgrind, a thread error detector\n==12== x 5\n", "a log of valgrind");
  refused("==12==ERROR: LeakSanitizer: detected memory leaks\n", "a report of LeakSanitizer");
  refused("--- mutex:\ncycles/second=2100000000\n1 2 @ 0x1\n", "a mutex profile");
  refused("threadcreate profile: total 7\n7 @ 0x1\n", "a profile of threads");
  refused("goroutine profile: total 2\n1 @ 0x1\n", "a goroutine profile");
  refused(" Active / Total Objects (% used)    : 5 / 6 (83.3%)\n", "give /proc/slabinfo itself");
  refused("# Samples: 5\n# Overhead  Command\n  5% x 1\n", "what 'perf report' prints");
}

TEST_CASE("families and names that are nearly right") {
  CHECK(stacks(read_text("a;b 1\n", "collapsed")) == Stacks{{"a;b", 1}});
  CHECK(read_data("massif/small.txt", "valgrind").total(0) != 0);
  refused("a;b 1\n", "--from perf stands for perf-data, perf-script, and it looks like none",
          "perf");
  CHECK(error_of("a 1\n", "foldd") ==
        "there is no format 'foldd'; did you mean 'folded'? see 'memflame collapse --help'");
  CHECK(error_of("a 1\n", "quite another") ==
        "there is no format 'quite another'; see 'memflame collapse --help'");
}

TEST_CASE("an input that has lost all its stacks is an error") {
  const std::string list =
      "[11:16:33] Top 10 stacks with outstanding allocations:\n"
      "\t32 bytes in 2 allocations from stack\n";
  refused(list + "main+0x1 [x]\n", "none of its figures has a stack: 1 line not understood");
  CHECK(read_text(list).total(0) == 32);  // as it was printed
  const std::string quoted = "> app 1/1 [000] 1.0: 1 cycles:\n> \t1 f (/a)\n> \t2 main (/a)\n> \n";
  refused(quoted, "none of its figures has a stack: 3 lines not understood", "perf-script");

  std::string bytes;
  protozero::pbf_writer profile(bytes);
  {
    protozero::pbf_writer type(profile, 1);
    type.add_int64(1, 1);
    type.add_int64(2, 1);
  }
  for (int i = 0; i < 3; ++i) {
    protozero::pbf_writer sample(profile, 2);
    sample.add_int64(2, 7);
    sample.add_int64(2, 8);
  }
  profile.add_string(6, "");
  profile.add_string(6, "x");
  refused(bytes, "nothing in it could be used: 3 records not understood");
}

TEST_CASE("a sum beyond 64 bits is an error whatever is written") {
  refused("a;b 9223372036854775807\nc;d 1\n", "text: a sum of values leaves the range of 64 bits");
  CHECK(read_text("a;b 9223372036854775807\nc;d 1\ne -1\n").total(0) == INT64_MAX);
}
