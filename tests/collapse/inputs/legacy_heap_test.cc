// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/heap/legacy_heap.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <sstream>

#include "collapse/inputs/heap/heap_columns.h"
#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

Profile read(const std::string& text, const ReadOptions& options = {}) {
  return read_text(text, "tcmalloc", options);
}

std::string heap(const std::string& kind, const std::string& rows = "1: 9216 [1: 9216] @ 0x10\n") {
  return "heap profile: 1: 9216 [1: 9216] @ " + kind + "\n" + rows + "MAPPED_LIBRARIES:\n";
}

// Rows of a .string file: "57 528909: 1 2 3" and "bytes:[9216]" below.
struct Expected {
  int64_t objects, bytes, size;
  std::string locations;
};
std::vector<Expected> expected(const std::string& text) {
  std::vector<Expected> rows;
  std::istringstream lines(text.substr(text.find("/bytes\n") + 7));
  for (std::string line; std::getline(lines, line) && !line.starts_with("Locations");) {
    Expected row{};
    if (std::sscanf(line.c_str(), " bytes:[%ld]", &row.size) == 1) {
      rows.back().size = row.size;
      continue;
    }
    REQUIRE(std::sscanf(line.c_str(), " %ld %ld:", &row.objects, &row.bytes) == 2);
    row.locations = line.substr(line.find(':') + 1);
    rows.push_back(row);
  }
  return rows;
}

// The expected sums of stacks when rows of one stack are joined.
std::vector<int64_t> sums(const std::vector<Expected>& rows) {
  std::map<std::string, int64_t> by_stack;
  for (const Expected& row : rows) by_stack[row.locations] += row.bytes;
  std::vector<int64_t> values;
  values.reserve(by_stack.size());
  for (const auto& [stack, value] : by_stack) values.push_back(value);
  std::sort(values.begin(), values.end());
  return values;
}

std::vector<int64_t> sums(const Profile& profile) {
  std::vector<int64_t> values;
  for (const auto& [stack, value] : stacks(profile)) values.push_back(value);
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace

TEST_CASE("what the header says decides the scaling") {
  CHECK(stacks(read(heap("heapz_v2/524288"))) == Stacks{{"[unmapped 0x10]", 528909}});
  CHECK(stacks(read(heap("heap_v2/524288")), "inuse_objects") == Stacks{{"[unmapped 0x10]", 57}});
  const Profile go = read(heap("heap/1048576"));
  CHECK(go.total(1) == 528909);
  CHECK(go.meta.sampling ==
        "1 sample per 512 KiB, scaled (half the rate of the header, as Go's pprof takes it)");
  for (const std::string kind : {"heapprofile", "heap/2", "heap_v2/1", "heap_v2/0"}) {
    const Profile exact = read(heap(kind));
    CHECK(exact.total(1) == 9216);
    CHECK(exact.types.size() == 2);
    CHECK(exact.meta.sampling.empty());
  }
  CHECK(read(heap("growthz")).types[1].name == "growth_space");
  CHECK(read(heap("fragmentationz")).types[1].name == "fragmentation_space");
  CHECK(error_of(heap("contentionz"), "tcmalloc") ==
        "text:1: profiles of 'contentionz' are not known");
}

TEST_CASE("four columns where the pairs differ") {
  const Profile p = read(
      "heap profile:    2:  200 [   3:  300] @ heapprofile\n"
      "  2: 200 [   2:  200] @ 0x1 0x2\n"
      "  0: 0 [   1:  100] @ 0x3 0x2\n");
  CHECK(p.types.size() == 4);
  CHECK(stacks(p) == Stacks{{"[unmapped 0x2];[unmapped 0x1]", 200}});
  CHECK(stacks(p, "alloc_space") ==
        Stacks{{"[unmapped 0x2];[unmapped 0x1]", 200}, {"[unmapped 0x2];[unmapped 0x3]", 100}});
  CHECK(read(heap("heapprofile")).types.size() == 2);
  CHECK(read("heap profile: 1: 8 [0: 0] @ heapz_v2/1\n1: 8 [0: 0] @ 0x1\n").types.size() == 2);
}

TEST_CASE("mappings in both forms, with names for folders") {
  const std::string head =
      "heap profile: 1: 8 [1: 8] @ heapprofile\n 1: 8 [1: 8] @ 0x401000 0x7001\n";
  CHECK(stacks(read(head + "--- Memory map: ---\n\tsource=/no/such\n"
                           "  00400000-00fcb000: $source/server\n"
                           "  7000-8000: /no/such/lib.so (@2000)\n")) ==
        Stacks{{"[lib.so+0x2001];[server+0x1000]", 8}});
  const Profile p = read(head +
                         "MAPPED_LIBRARIES:\n"
                         "00400000-00fcb000 r--p 00000000 08:01 77 /no/such/server\n"
                         "00fcb000-00fcc000 r-xp 00000000 08:01 77 /no/such/server\n"
                         "7000-8000 r-xp 00000000 00:00 0 \n");
  CHECK(stacks(p) == Stacks{{"[anon+0x1];[unmapped 0x401000]", 8}});
}

TEST_CASE("names of Go, which leaves out frames of its own") {
  const std::string go =
      "heap profile: 2: 208 [2: 208] @ heap/2\n"
      "1: 104 [1: 104] @ 0x4100a1 0x4200b2 0x4300c3 0x4400d4\n"
      "#\t0x4200b1\tmain.(*T).inner+0x11\t\t/src/a b/main.go:12\n"
      "#\t0x4200b1\tmain.outer+0x11\t\t\t/src/a b/main.go:20\n"
      "#\t0x4300c2\truntime.main+0x212\t/usr/go/src/runtime/proc.go:250\n"
      "\n"
      "1: 104 [1: 104] @ 0x4100a1\n"
      "\n"
      "# runtime.MemStats\n# Alloc = 5\n# 0x12 = 7\n";
  CHECK(stacks(read(go), {}, true) ==
        Stacks{{"runtime.main;main.outer;main.(*T).inner_[i]", 104}, {"[unmapped 0x4100a1]", 104}});
  CHECK(stacks(read(go, {.offsets = true}))
            .count("runtime.main+0x212;main.outer+0x11;"
                   "main.(*T).inner+0x11") == 1);
  const Profile lines = read(go, {.lines = true});
  for (const StackId stack : lines.touched()) {
    const Frame& leaf = lines.frames[lines.path(stack).back()];
    if (leaf.kind != FrameKind::inlined) continue;
    CHECK(lines.strings[leaf.file] == "/src/a b/main.go");
    CHECK(leaf.line == 12);
  }
}

TEST_CASE("stacks that are not in the file are missed") {
  const Profile p = read("heap profile: 2: 300 [2: 300] @ heapprofile\n1: 100 [1: 100] @ 0x1\n");
  REQUIRE(!p.meta.notes.empty());
  CHECK(p.meta.notes.back() ==
        "stacks are missing: those that are there hold 100 of the 300 bytes that the first line "
        "states");
  CHECK(read("heap profile: 1: 8 [1: 8] @ heapprofile\n1: 8 [1: 8] @ 0x1").meta.notes.back() ==
        "text: its last stack ends in the middle");
  CHECK(error_of("heap profile: 1: 8 [1: 8] @ heapprofile\n1: 8 [1: 8] @ 0x1", "",
                 {.refuse_truncated = true}) == "text: its last stack ends in the middle");
  CHECK(error_of("heap profile: 1: 8 [1: 8] @ heap/2\n1: 8 [1: 8] @ 0x1\n#\t0x1\tmai", "",
                 {.refuse_truncated = true}) == "text: its last stack ends in the middle");
}

TEST_CASE("hostile headers and rows") {
  CHECK(
      error_of("heap profile: 1: 8 [1: 8] @ heapprofile\n1: 99999999999999999999 [1: 8] @ 0x1\n") ==
      "text:2: a number leaves the range of 64 bits");
  CHECK(error_of("heap profile: 99999999999999999999: 8 [1: 8] @ heapprofile\n").find("64 bits") !=
        std::string::npos);
  CHECK(error_of("heap profile: 1: 8 [1: 8] @ heapprofile\njunk\n").find("junk") !=
        std::string::npos);
  CHECK(!error_of("heap profile: 1\n", "tcmalloc").empty());
  CHECK(!error_of("", "tcmalloc").empty());
  const std::string max = "9223372036854775807";
  CHECK(error_of("heap profile: 1: 8 [1: 8] @ heapprofile\n1: " + max + " [0: 0] @ 0x1\n1: " + max +
                 " [0: 0] @ 0x2\n")
            .find("64 bits") != std::string::npos);
  CHECK(stacks(read(heap("heapprofile", "-1: -8 [1: 8] @ 0x1\n"))) ==
        Stacks{{"[unmapped 0x1]", -8}});
  CHECK(stacks(read(heap("heap_v2/524288", "-1: -9216 [1: 8] @ 0x1\n"))) ==
        Stacks{{"[unmapped 0x1]", -528909}});
  CHECK(
      stacks(read(heap("heapprofile", "1: 8 [1: 8] @ 0xfffffffffffffffff\n1: 7 [1: 7] @ 0x1\n"))) ==
      Stacks{{"[unmapped 0x1]", 7}});
}

TEST_CASE("recognition") {
  CHECK(recognised(heap("heapprofile")) == "tcmalloc");
  CHECK(recognised("heap profile: 1: 8 [1: 8] @ contentionz\n") == "tcmalloc");
  CHECK(recognised("heap profile: of my server 12\n") == "folded");
  CHECK(recognised("goroutine profile: total 7\n1 @ 0x1\n") != "tcmalloc");
}

TEST_CASE("public sample: every row as pprof scales it") {
  const auto folder = corpus("pprof");
  if (!folder) return;
  const std::string text = file_text(*folder / "cppbench.heap");
  const std::vector<Expected> rows = expected(file_text(*folder / "cppbench.heap.string"));
  REQUIRE(rows.size() == 31);
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  for (const Expected& want : rows) {
    std::getline(lines, line);
    const auto row = parse_legacy_row(line);
    REQUIRE(row);
    const HeapCounts all = estimated(524288, row->in_use);
    CHECK(all.objects == want.objects);
    CHECK(all.bytes == want.bytes);
    CHECK(row->in_use.bytes / row->in_use.objects == want.size);
  }
  const Profile p = read_text(text);
  CHECK(sums(p) == sums(rows));
  CHECK(p.types.size() == 4);  // two, and their variances
  CHECK(stacks(p).rbegin()->first.starts_with(
      "[libpthread-2.15.so+0x70fe];[cppbench_server_main+0x"));
}
