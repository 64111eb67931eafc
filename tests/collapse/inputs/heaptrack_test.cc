// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>

#include "collapse/verdicts/leak_patterns.h"
#include "core/error.h"
#include "tests/collapse/inputs/inputs.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

// main calls make, into which grow was inlined; a library has no names.
const std::string tables =
    "v 10400 3\nX ./server --port 80\nI 1000 3e8\n"
    "s 8 ./server\ns 4 main\ns 4 make\ns 4 grow\ns 6 srv.cc\ns c /lib/libx.so\n"
    "i 1000 1 2 5 a\n"          // 1: main (srv.cc:10)
    "i 1100 1 4 5 14 3 5 1e\n"  // 2: make (srv.cc:30) with grow (srv.cc:20)
    "i 7f0000001234 6\n"        // 3: libx
    "t 1 0\nt 2 1\nt 3 1\n"     // 1: main, 2: main make grow, 3: main libx
    "a 64 2\na a 3\na ff 0\n";  // 100 bytes, 10 bytes, 255 bytes without a trace

int64_t total(const Profile& p, std::string_view name) { return p.total(column(p, name)); }

bool has_note(const Profile& p, std::string_view text) {
  return std::any_of(p.meta.notes.begin(), p.meta.notes.end(),
                     [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("heaptrack: what is left, the peak, and what was freed at once") {
  const Profile p = read_text(tables + "c 5\n+ 0\n+ 1\n- 1\n+ 0\n+ 2\nc a\n- 0\n- 0\n+ 1\nR 10\n");
  CHECK(recognised(tables) == "heaptrack");
  CHECK(stacks(p) == Stacks{{"main;[libx.so]", 10}, {"[unknown]", 255}});
  CHECK(stacks(p, "peak") == Stacks{{"main;make;grow", 200}, {"[unknown]", 255}});
  CHECK(stacks(p, "peak_blocks") == Stacks{{"main;make;grow", 2}, {"[unknown]", 1}});
  CHECK(stacks(p, "leaked_blocks") == Stacks{{"main;[libx.so]", 1}, {"[unknown]", 1}});
  CHECK(stacks(p, "allocations") ==
        Stacks{{"main;make;grow", 2}, {"main;[libx.so]", 2}, {"[unknown]", 1}});
  CHECK(stacks(p, "allocated") ==
        Stacks{{"main;make;grow", 200}, {"main;[libx.so]", 20}, {"[unknown]", 255}});
  CHECK(stacks(p, "temporary") == Stacks{{"main;[libx.so]", 1}});
  CHECK(p.types[p.shown] == ValueType{"leaked", Unit::bytes});
  CHECK(p.meta.title == "heaptrack");
  CHECK(p.meta.command == "heaptrack ./server --port 80");
  CHECK(p.meta.seconds == 0.01);
  CHECK(has_note(p, "the peak of 455 B was reached after 5 ms"));
  CHECK(has_note(p, "the highest RSS was 65,536 B"));
  CHECK(p.losses.lost_events() == 0);
}

TEST_CASE("heaptrack: the peak is that of the moment when the sum was highest first") {
  // 100, 200, 100, 110, 210 (the peak), 200, 100, 110, 210 again, other blocks
  const Profile p =
      read_text(tables + "+ 0\n+ 0\n- 0\n+ 1\n+ 0\n- 1\n- 0\n+ 1\n+ 0\n+ 1\n- 1\n- 0\n");
  CHECK(total(p, "peak") == 220);
  const Profile q = read_text(tables + "+ 0\n+ 1\n- 0\n- 1\n+ 1\n+ 0\n");
  CHECK(stacks(q, "peak") == Stacks{{"main;make;grow", 100}, {"main;[libx.so]", 10}});
}

TEST_CASE("heaptrack: frames have their kinds, modules and, when asked, lines") {
  ReadOptions options;
  options.lines = options.addresses = true;
  const Profile p = read_text(tables + "+ 0\n+ 1\n", {}, options);
  const std::vector<FrameId> path = p.path(p.touched()[0]);
  REQUIRE(path.size() == 3);
  const Frame& make = p.frames[path[1]];
  const Frame& grow = p.frames[path[2]];
  CHECK(make.kind == FrameKind::user);
  CHECK(make.line == 30);
  CHECK(grow.kind == FrameKind::inlined);
  CHECK(grow.line == 20);
  CHECK(p.strings[grow.file] == "srv.cc");
  CHECK(p.strings[grow.module] == "./server");
  const Frame& nameless = p.frames[p.path(p.touched()[1]).back()];
  CHECK(p.strings[nameless.function] == "0x7f0000001234");
  CHECK(p.strings[nameless.module] == "/lib/libx.so");
  CHECK(nameless.kind == FrameKind::unknown);
  const Profile plain = read_text(tables + "+ 0\n");
  CHECK(plain.frames[plain.path(plain.touched()[0])[1]].line == 0);
}

TEST_CASE("heaptrack: strings before version 3 have no length, and may have blanks") {
  const Profile p = read_text(
      "v 10000 2\nX ./a\ns ./a\ns operator new(unsigned long)\ni 1 1 2\nt 1 0\na 8 1\n+ 0\n");
  CHECK(stacks(p) == Stacks{{"operator new(unsigned long)", 8}});
  const Profile first = read_text("v 10200\nX ./a\ns ./a\ns f\ni 1 1 2\nt 1 0\na 8 1\n+ 0\n");
  CHECK(stacks(first) == Stacks{{"f", 8}});
}

TEST_CASE("heaptrack: what is suppressed is in columns of its own") {
  const Profile p = read_text(
      "v 10400 3\nX ./a\nS leak:^lib*so$\nS nonsense\ns 3 ./a\ns 4 main\ns e dl_open_worker\n"
      "s 9 libfoo.so\ni 1 1 2\ni 2 1 3\ni 3 4\nt 1 0\nt 2 1\nt 1 2\nt 3 1\n"
      "a 1 1\na a 2\na 64 3\na 3e8 4\n+ 0\n+ 1\n+ 2\n+ 3\n");
  CHECK(total(p, "leaked_all") == 1111);
  CHECK(total(p, "leaked_all_blocks") == 4);
  CHECK(stacks(p, "leaked") == Stacks{{"main", 1}});
  CHECK(stacks(p, "leaked_blocks") == Stacks{{"main", 1}});
  CHECK(has_note(p, "heaptrack suppresses 1,110 B in 3 blocks"));
  CHECK(p.losses[Loss::input_line].events == 1);
}

TEST_CASE("leak patterns") {
  CHECK(matches_leak_pattern("foo", "a foo b"));
  CHECK(matches_leak_pattern("^leak*Supp$", "leakEmbeddedSupp"));
  CHECK_FALSE(matches_leak_pattern("^leak*Supp$", "leakEmbeddedSuppr"));
  CHECK_FALSE(matches_leak_pattern("^oo", "foo"));
  CHECK(matches_leak_pattern("^/lib*/ld-linux-*.so.2$", "/lib64/ld-linux-x86-64.so.2"));
  CHECK(matches_leak_pattern("a*", "xa"));
  CHECK(matches_leak_pattern("a*$", "xab"));
  CHECK_FALSE(matches_leak_pattern("a", ""));
  CHECK(matches_leak_pattern("", "x"));
  LeakPatterns patterns;
  CHECK(patterns.add_line("  # a comment"));
  CHECK_FALSE(patterns.add_line("leak:"));
  for (size_t i = 0; i < LeakPatterns::max_patterns; ++i) CHECK(patterns.add_line("leak:x"));
  CHECK_FALSE(patterns.add_line("leak:x"));
}

TEST_CASE("heaptrack: raw, older and newer files are refused with what to do") {
  const std::string raw = "v 10400 3\nx 3 ./a\nX ./a\nI 1000 1\nm 1 -\nt 7f 0\n+ 8 1 7f00\n";
  CHECK(recognised(raw) == "heaptrack");
  CHECK(error_of(raw).find("text:2: this is what heaptrack recorded") == 0);
  CHECK(error_of(raw).find("heaptrack_interpret") != std::string::npos);
  CHECK(error_of("v 10000\nX a\n").find("before 1.0") != std::string::npos);
  CHECK(error_of("v 20000 4\nX a\n").find("of version 4") != std::string::npos);
  CHECK(error_of("v 10400 3\nX a\n").find("no allocation") != std::string::npos);
}

TEST_CASE("heaptrack: what is damaged is counted; what follows keeps its number") {
  const Profile p =
      read_text(tables + "a\nt 99 0\nt 1 99\ns 999 x\ni zz\n+ 63\n- 0\n- x\n? 1\n+\na 7 2\n+ 4\n");
  CHECK(stacks(p) == Stacks{{"main;make;grow", 7}});
  CHECK(p.losses[Loss::input_line].events == 10);
  // Blocks of an unknown record are counted without size and stack.
  CHECK(stacks(read_text(tables + "a 5\n+ 3\n"), "allocations") == Stacks{{"[unknown]", 1}});
  CHECK(error_of(tables + "a 8000000000000000 1\n").find("64 bits") != std::string::npos);
  CHECK(error_of(tables + "a 10000000000000000 1\n").find("64 bits") != std::string::npos);
  const std::string large = tables + "a 7fffffffffffffff 1\n+ 3\n";
  CHECK(stacks(read_text(large)) == Stacks{{"main", INT64_MAX}});
  CHECK(error_of(large + "+ 0\n").find("64 bits") != std::string::npos);
  CHECK(error_of(large + "- 3\n+ 3\n").find("sum of all bytes") != std::string::npos);
}

TEST_CASE("heaptrack: a last line without its end is left out, or refused") {
  const Profile p = read_text(tables + "+ 0\n+ 0\n- 0");
  CHECK(total(p, "leaked_blocks") == 2);
  CHECK(has_note(p, "in the middle of a line"));
  ReadOptions options;
  options.refuse_truncated = true;
  CHECK(error_of(tables + "+ 0\n+ 0", {}, options).find("in the middle") != std::string::npos);
}

TEST_CASE("heaptrack: public samples") {
  const auto folder = corpus("heaptrack");
  if (!folder) return;
  const auto read = [&](const char* name) {
    Source source = Source::open(*folder / name);
    return read_profile(source, {}, {});
  };
  const Profile david = read("heaptrack.david.18594.gz");
  CHECK(total(david, "allocations") == 2896);
  CHECK(total(david, "temporary") == 729);
  CHECK(total(david, "peak") == 996970);
  CHECK(total(david, "leaked") == 25259);
  CHECK(total(david, "leaked_all") == 30463);
  CHECK(total(david, "leaked_all_blocks") == 2896 - 2859);
  CHECK(has_note(david, "the highest RSS was 76,042,240 B"));
  CHECK(david.losses.lost_events() == 0);

  const Profile lsan = read("heaptrack.embedded_lsan_suppressions.84207.zst");
  CHECK(total(lsan, "allocations") == 5);
  CHECK(total(lsan, "temporary") == 0);
  CHECK(total(lsan, "peak") == 72714);
  CHECK(total(lsan, "leaked") == 5);
  CHECK(total(lsan, "leaked_all") == 10);
}
