// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <sstream>

#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

const std::string small =
    "--- heapz 1 ---\nformat = java\nresolution = bytes\n"
    "          7048     1 @ 0x00000003 0x00000004\n"
    "           240     5 @ 0x00000097 0x00000098\n\n\n"
    " 0x00000003 com.example.f (F.java:103)\n"
    " 0x00000004 com.example.Outer$Inner.main (Native Method)\n"
    " 0x00000097 GC\n";

Profile read(const std::string& text, const ReadOptions& options = {}) {
  return read_text(text, "java-heapz", options);
}

}  // namespace

TEST_CASE("bytes and objects of each stack, names from the end of the file") {
  const Profile p = read(small);
  CHECK(stacks(p) ==
        Stacks{{"com.example.Outer$Inner.main;com.example.f", 527819}, {"[unknown];GC", 2621560}});
  CHECK(stacks(p, "inuse_objects") ==
        Stacks{{"com.example.Outer$Inner.main;com.example.f", 74}, {"[unknown];GC", 54615}});
  CHECK(p.meta.sampling.starts_with("1 sample per 512 KiB, scaled"));
  CHECK(p.total_error(column(p, "inuse_space")) > 500'000);
  const Profile lines = read(small, {.lines = true});
  const Frame& leaf = lines.frames[lines.path(lines.touched()[0]).back()];
  CHECK(lines.strings[leaf.file] == "F.java");
  CHECK(leaf.line == 103);
}

TEST_CASE("other profiles and damaged ones") {
  CHECK(error_of("--- heapz 1 ---\nformat = java\nresolution = microseconds\n") ==
        "text: expected 'resolution = bytes': it is not a profile of memory");
  CHECK(error_of("--- heapz 1 ---\nresolution = bytes\n").find("format = java") !=
        std::string::npos);
  CHECK(error_of("--- heapz 1 ---\nformat = java\nresolution = bytes\nx\n").find("'x'") !=
        std::string::npos);
  CHECK(error_of("--- heapz 1 ---\nformat = java\nresolution = bytes\n"
                 "99999999999999999999 1 @ 0x1\n")
            .find("64 bits") != std::string::npos);
  const Profile p = read(small + "12 1 @ 0xzz\n");
  CHECK(p.losses[Loss::input_line].events == 1);
  CHECK(stacks(read("--- heapz 1 ---\nformat = java\nresolution = bytes\n600000 0 @\n")) ==
        Stacks{{"[no stack]", 600000}});
}

TEST_CASE("a last line without its end is said, or refused") {
  const std::string what = "the input ends in the middle of a line";
  const std::string cut = small + "600000 1 @ 0x97";
  const Profile row = read(cut);
  CHECK(stacks(row) == stacks(read(small)));
  CHECK(row.meta.notes == std::vector{what + "; that line was left out"});
  CHECK(error_of(cut, "java-heapz", {.refuse_truncated = true}) == "text:11: " + what);
  const Profile name = read(small.substr(0, small.size() - 2));
  CHECK(stacks(name).contains("[unknown];G"));
  CHECK(name.meta.notes == std::vector{what + "; that name may be longer"});
  // Nothing is missing but the line feed.
  const Profile whole = read(small + " 0x00000098 com.example.Main.run (Main.java:7)");
  CHECK(stacks(whole).contains("com.example.Main.run;GC"));
  CHECK(whole.meta.notes.empty());
}

TEST_CASE("recognition") {
  CHECK(recognised(small) == "java-heapz");
  CHECK(recognised("--- heap 1 ---\n") != "java-heapz");
  CHECK(recognised("--- contentionz 1 ---\nformat = java\n") != "java-heapz");
}

TEST_CASE("public sample: every row as pprof scales it") {
  const auto folder = corpus("pprof");
  if (!folder) return;
  const Profile p = read_text(file_text(*folder / "java.heap"));
  std::istringstream lines(file_text(*folder / "java.heap.string"));
  size_t row = 0;
  for (std::string line; std::getline(lines, line) && line != "Locations";) {
    int64_t objects = 0;
    int64_t bytes = 0;
    if (std::sscanf(line.c_str(), " %ld %ld:", &objects, &bytes) != 2) continue;
    REQUIRE(row < p.touched().size());
    const StackId stack = p.touched()[row++];
    CHECK(p.values(stack)[0] == objects);
    CHECK(p.values(stack)[1] == bytes);
    // "1: 0x0 com.example.function003 Source003.java:103:0 s=0" is the leaf of the first.
    std::istringstream ids(line.substr(line.find(':') + 1));
    size_t depth = 0;
    for (std::string id; ids >> id;) ++depth;
    CHECK(p.path(stack).size() == depth);
  }
  CHECK(row == 7);
  CHECK(p.strings[p.frames[p.path(p.touched()[6]).back()].function] == "com.example.function097");
}

TEST_CASE("a last line without an end is kept, or refused") {
  const std::string cut = small.substr(0, small.size() - 4);
  const ReadOptions refuse{.refuse_truncated = true};
  CHECK(error_of(cut, "java-heapz").empty());
  CHECK(error_of(cut, "java-heapz", refuse).find("ends in the middle") != std::string::npos);
  CHECK(error_of(small, "java-heapz", refuse).empty());
}
