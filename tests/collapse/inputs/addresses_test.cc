// SPDX-License-Identifier: BSD-2-Clause
// Names for profiles that hold addresses, from files built by these tests (data/symbols/).
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>

#include "tests/collapse/inputs/inputs.h"
#include "tests/collapse/symbolize/symbolize_fixture.h"
#include "tests/support/scaled.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only
namespace fs = std::filesystem;

namespace {

std::string hex_of(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "%lx", static_cast<unsigned long>(value));
  return text;
}

std::string maps_of(const fixture::Run& ran) {
  std::string text;
  for (const fixture::MapLine& map : ran.maps)
    text += hex_of(map.start) + "-" + hex_of(map.end) + " r-xp " + hex_of(map.offset) + " fe:00 " +
            std::to_string(map.inode) + "    " + map.path + "\n";
  return text;
}

// A profile of jemalloc with one stack: hold() called from plain().
std::string heap_of(const fixture::Run& ran, const std::string& maps) {
  return "heap_v2/1\n  t*: 1: 64 [0: 0]\n@ 0x" + hex_of(ran.at.at("hold")) + " 0x" +
         hex_of(ran.at.at("plain")) + "\n  t*: 1: 64 [0: 0]\n\nMAPPED_LIBRARIES:\n" + maps;
}

struct Copied {
  explicit Copied(const std::string& of = "pie") : path(scratch.path / "program") {
    fs::copy_file(fs::path(SYMBOLS) / of, path);
    ran = fixture::run(path);
  }
  fixture::Scratch scratch;
  std::string path;
  fixture::Run ran;
};

bool all_unknown(const Profile& profile) {
  for (const FrameId frame : profile.path(profile.touched()[0]))
    if (profile.frames[frame].kind != FrameKind::unknown) return false;
  return true;
}

bool noted(const Profile& profile, const std::string& what) {
  for (const std::string& note : profile.meta.notes)
    if (note.find(what) != std::string::npos) return true;
  return false;
}

const std::string in_names =
    "plain;int shapes::Box::hold<int>(int);shapes::inner(int);"
    "(anonymous namespace)::hidden";

}  // namespace

TEST_CASE("names with inlined functions, from the file that was mapped") {
  const Copied c;
  const std::string text = heap_of(c.ran, maps_of(c.ran));
  const Profile p = read_text(text);
  CHECK(stacks(p) == Stacks{{in_names, 64}});
  CHECK(p.meta.notes.empty());
  CHECK(p.frames[p.path(p.touched()[0]).back()].kind == FrameKind::inlined);
  CHECK(p.strings[p.frames[p.path(p.touched()[0])[0]].module] == c.path);
  CHECK(p.frames[p.path(p.touched()[0])[0]].line == 0);
  const Profile lines = read_text(text, {}, {.lines = true});
  CHECK(lines.frames[lines.path(lines.touched()[0])[0]].line ==
        fixture::line_of(SYMBOL_SOURCES "/program.cc", "plain"));
}

TEST_CASE("never names of another file") {
  const Copied c;
  const std::string text = heap_of(c.ran, maps_of(c.ran));
  SUBCASE("gone") {
    fs::remove(c.path);
    const Profile p = read_text(text);
    CHECK(all_unknown(p));
    CHECK(noted(p, c.path + ": names unknown, the file could not be opened"));
    CHECK(stacks(p).begin()->first.starts_with("[program+0x"));
  }
  SUBCASE("another inode") {
    fixture::Run other = c.ran;
    for (fixture::MapLine& map : other.maps) ++map.inode;
    const Profile p = read_text(heap_of(c.ran, maps_of(other)));
    CHECK(all_unknown(p));
    CHECK(noted(p, c.path + ": names unknown, the file was replaced"));
  }
  SUBCASE("the same inode, changed after the profile was written") {
    const std::string profile = c.scratch.path / "profile";
    fixture::write_file(profile, text);
    Source before = Source::open(profile);
    CHECK(!all_unknown(read_profile(before, {}, {})));
    fs::last_write_time(c.path, fs::last_write_time(profile) + std::chrono::seconds(5));
    Source after = Source::open(profile);
    const Profile p = read_profile(after, {}, {});
    CHECK(all_unknown(p));
    CHECK(noted(p, c.path + ": names unknown, the file was replaced"));
  }
  SUBCASE("names are not asked for") {
    const Profile p = read_text(text, {}, {.symbols = false});
    CHECK(all_unknown(p));
    CHECK(p.meta.notes.empty());
  }
  SUBCASE("a pipe in its place is not opened") {
    fs::remove(c.path);
    REQUIRE(::mkfifo(c.path.c_str(), 0600) == 0);
    CHECK(all_unknown(read_text(text)));
  }
}

TEST_CASE("where nothing tells which file it was, the names come with a warning") {
  const Copied c("no_pie");
  std::string maps;
  for (const fixture::MapLine& map : c.ran.maps)
    maps += "  " + hex_of(map.start) + "-" + hex_of(map.end) + ": " + map.path + " (@" +
            hex_of(map.offset) + ")\n";
  const Profile p = read_text(heap_of(c.ran, maps));
  CHECK(stacks(p) == Stacks{{in_names, 64}});
  CHECK(noted(p, c.path + ": names are of the file that is there now"));
}

TEST_CASE("hostile mappings") {
  const auto with = [](const std::string& maps) {
    return read_text(
        "heap_v2/1\n  t*: 1: 8 [0: 0]\n@ 0x1801 0xffffffffffffffff 0x0\n"
        "  t*: 1: 8 [0: 0]\n\nMAPPED_LIBRARIES:\n" +
        maps);
  };
  CHECK(with("").total(1) == 8);
  // Ends beyond 64 bits, empty and reversed ranges, half lines.
  const Profile bad = with(
      "1000-10000000000000000 r-xp 0 00:00 1 /a\n1000-1000 r-xp 0 00:00 1 /a\n"
      "2000-1000 r-xp 0 00:00 1 /a\n1000-2000 r-xp\n1000-2000\n-\nzz\n"
      "1000-2000 r-xp 0 00:00 99999999999999999999 /a\n");
  CHECK(bad.losses[Loss::input_line].events == 8);
  CHECK(bad.total(1) == 8);
  CHECK(stacks(with("0-ffffffffffffffff r-xp 0 00:00 1 /a\n")).begin()->first.find("[a+0x1801]") !=
        std::string::npos);
  CHECK(stacks(with("1000-2000 r-xp ffffffffffffffff 00:00 1 /a\n")).size() == 1);
  // The first of two overlapping mappings stays.
  const Profile two = with("1000-2000 r-xp 0 00:00 1 /first\n1800-3000 r-xp 0 00:00 1 /second\n");
  CHECK(stacks(two).begin()->first.find("[first+0x801]") != std::string::npos);
  CHECK(two.losses[Loss::input_line].events == 1);
}

TEST_CASE("a million mappings and as many addresses are looked up in time") {
  std::string text = "heap_v2/1\n  t*: 1: 8 [0: 0]\n";
  std::string maps = "\nMAPPED_LIBRARIES:\n";
  constexpr int many = scaled(500'000);  // of each of both kinds of mappings
  for (int i = 0; i < many; ++i) {
    text += "@ 0x" + hex_of(0x1801 + static_cast<uint64_t>(i)) + "\n  t*: 1: 8 [0: 0]\n";
    maps += hex_of(0x1000) + "-" + hex_of(0x1000000 + static_cast<uint64_t>(i) * 16) +
            " r-xp 0 00:00 1 /no/such/a" + std::to_string(i % 1000) + "\n";
    maps += "2000000" + std::to_string(i + many) + "0-2000000" + std::to_string(i + many) +
            "8 r-xp 0 00:00 1 /no/such/b\n";
  }
  const Profile p = read_text(text + maps);
  CHECK(p.total(1) == 8LL * many);
  CHECK(stacks(p).size() == many);
}
