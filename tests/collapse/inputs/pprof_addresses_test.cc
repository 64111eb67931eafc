// SPDX-License-Identifier: BSD-2-Clause
// Addresses, mappings and lines in pprof output, read from its tables directly.
#include <doctest/doctest.h>
#include <zlib.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "collapse/inputs/pprof/pprof_message.h"
#include "collapse/tidy/tidy.h"
#include "render/output.h"
#include "tests/collapse/inputs/inputs.h"
#include "tests/collapse/inputs/round_trip.h"
#include "tests/collapse/symbolize/symbolize_fixture.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only
namespace fs = std::filesystem;

namespace {

const ReadOptions with_code{.code = true, .lines = true};

std::string unpacked(const std::string& bytes) {
  std::string text(size_t{1} << 22U, '\0');
  z_stream stream{};
  REQUIRE(inflateInit2(&stream, 15 + 32) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  REQUIRE(inflate(&stream, Z_FINISH) == Z_STREAM_END);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

std::string packed(const Profile& profile) {
  std::ostringstream out;
  write_pprof(out, profile, {});
  return out.str();
}

// A profile as it is written, with checks that hold for every profile.
struct Written {
  explicit Written(const Profile& profile) : bytes(packed(profile)), message(unpacked(bytes)) {
    tables = pprof::read_tables(message);
    CHECK(tables.ids_used_twice == 0);
    std::set<std::string_view> texts(tables.strings.begin(), tables.strings.end());
    CHECK(texts.size() == tables.strings.size());
    CHECK(tables.strings[0].empty());
    for (uint64_t id = 1; id <= tables.mappings.size(); ++id)
      CHECK(tables.mapping_ids.find(id) == id - 1);
    for (uint64_t id = 1; id <= tables.locations.size(); ++id)
      CHECK(tables.location_ids.find(id) == id - 1);
    for (uint64_t id = 1; id <= tables.functions.size(); ++id)
      CHECK(tables.function_ids.find(id) == id - 1);
    for (const pprof::Location& location : tables.locations) {
      if (location.address == 0) continue;
      const pprof::Mapping& mapping = mapping_of(location);
      CHECK(location.address >= mapping.start);
      CHECK(location.address < mapping.limit);
    }
  }
  const pprof::Mapping& mapping_of(const pprof::Location& location) const {
    const uint32_t at = tables.mapping_ids.find(location.mapping);
    REQUIRE(at != pprof::IdTable::none);
    return tables.mappings[at];
  }
  std::string_view text(int64_t at) const { return tables.strings.at(static_cast<size_t>(at)); }
  // "inner plain.cc:7<5, outer plain.cc:9<8" of a location: lines, and where functions begin.
  std::string lines(const pprof::Location& location) const {
    std::string all;
    for (size_t i = location.first_line; i < location.last_line; ++i) {
      const pprof::Line& line = tables.lines[i];
      const pprof::Function& function = tables.functions[tables.function_ids.find(line.function)];
      const std::string_view file = text(function.file);
      all += (all.empty() ? "" : ", ") + std::string(text(function.name)) + " " +
             std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(line.line) + "<" +
             std::to_string(function.start_line);
    }
    return all;
  }

  std::string bytes, message;
  pprof::Tables tables;
};

std::string hex_of(uint64_t value) {
  std::ostringstream text;
  text << std::hex << value;
  return text.str();
}

// A heap profile of jemalloc, of a fixture program: hold() called from plain().
std::string heap_of(const fixture::Run& ran) {
  std::string text = "heap_v2/1\n  t*: 1: 64 [0: 0]\n@ 0x" + hex_of(ran.at.at("hold")) + " 0x" +
                     hex_of(ran.at.at("plain")) + "\n  t*: 1: 64 [0: 0]\n\nMAPPED_LIBRARIES:\n";
  for (const fixture::MapLine& map : ran.maps)
    text += hex_of(map.start) + "-" + hex_of(map.end) + " r-xp " + hex_of(map.offset) + " fe:00 " +
            std::to_string(map.inode) + "    " + map.path + "\n";
  return text;
}

// Two files and a note: code of a program without a fixed address, and of a library without a name.
struct Made {
  Made() {
    profile.types = {{"live", Unit::bytes}};
    const CodeMappingId library = profile.code.add({.file = "/lib/liba.so",
                                                    .build_id = "aa11",
                                                    .start = 0x1000,
                                                    .limit = 0x3000,
                                                    .offset = 0x1000});
    const CodeMappingId program = profile.code.add({.file = "/bin/server",
                                                    .build_id = "bb22",
                                                    .start = 0x401000,
                                                    .limit = 0x402000,
                                                    .offset = 0});
    profile.code.mark_program(program);
    outer = profile.code.add({program, 0x401010});
    again = profile.code.add({program, 0x401020});
    start = profile.code.add({library, 0x1fff});
  }
  StackId push(StackId caller, std::string_view name, CodeId code, uint32_t line,
               FrameKind kind = FrameKind::user) {
    const bool in_program = profile.code[code].mapping.index == 2;
    return profile.stacks.push(
        caller, profile.frames.intern(
                    {.function = profile.strings.intern(name),
                     .module = profile.strings.intern(in_program ? "/bin/server" : "/lib/liba.so"),
                     .file = line == 0 ? StringId{} : profile.strings.intern("a.c"),
                     .line = line,
                     .kind = kind,
                     .start_line = line == 0 ? 0U : 3U,
                     .code = code}));
  }
  Profile profile;
  CodeId outer, again, start;
};

}  // namespace

TEST_CASE("what was mapped: file, build id, offset, and addresses that the linker gave") {
  for (const char* name :
       {"pie", "no_pie", "far", "relocated", "one_segment", "static_pie", "lld"}) {
    const std::string program = fs::path(SYMBOLS) / name;
    if (!fs::exists(program)) continue;
    CAPTURE(program);
    const fixture::Run ran = fixture::run(program);
    const Profile p = read_text(heap_of(ran), {}, with_code);
    const Written w(p);
    REQUIRE(w.tables.locations.size() == 2);
    REQUIRE(!w.tables.mappings.empty());
    CHECK(w.text(w.tables.mappings[0].file) == program);
    const Recording with_ids = fixture::record(ran.maps);
    const ModuleId module = fixture::find_module(with_ids, program);
    CHECK(w.text(w.tables.mappings[0].build_id) == with_ids.modules[module.index].build_id);
    for (const char* place : {"hold", "plain"}) {
      const uint64_t at = ran.at.at(place) - 1;
      uint64_t in_file = 0;
      for (const fixture::MapLine& map : ran.maps)
        if (at >= map.start && at < map.end) in_file = at - map.start + map.offset;
      size_t found = 0;
      for (const pprof::Location& location : w.tables.locations) {
        const pprof::Mapping& mapping = w.mapping_of(location);
        if (location.address - mapping.start + mapping.offset == in_file) ++found;
      }
      CHECK(found == 1);
    }
    const std::string line =
        std::to_string(fixture::line_of(SYMBOL_SOURCES "/program.cc", "plain"));
    size_t plain = 0;
    for (const pprof::Location& location : w.tables.locations)
      if (w.lines(location).starts_with("plain program.cc:" + line + "<")) ++plain;
    CHECK(plain == 1);
    CHECK(told(read_text(w.bytes, {}, with_code)) == told(p));
    CHECK(packed(read_text(w.bytes, {}, with_code)) == w.bytes);
    CHECK(read_text(heap_of(ran)).code.empty());
  }
}

TEST_CASE("the main program first, inlined functions in one location, notes beside") {
  Made m;
  const StackId root = m.profile.push({}, "server", FrameKind::process);
  const StackId lib = m.push(root, "[liba.so+0x1ff0]", m.start, 0, FrameKind::unknown);
  const StackId main = m.push(lib, "main", m.outer, 9);
  const StackId inner = m.push(main, "inner", m.outer, 5, FrameKind::inlined);
  m.profile.add(inner, std::vector<int64_t>{64});
  m.profile.add(m.push(lib, "main", m.again, 10), std::vector<int64_t>{8});
  m.profile.add(m.profile.push(root, "[truncated: x]", FrameKind::note), std::vector<int64_t>{1});
  const Written w(m.profile);
  REQUIRE(w.tables.mappings.size() == 3);
  CHECK(w.text(w.tables.mappings[0].file) == "/bin/server");
  CHECK(w.text(w.tables.mappings[0].build_id) == "bb22");
  std::set<std::string> locations;
  for (const pprof::Location& location : w.tables.locations) {
    CHECK(location.mapping != 0);
    locations.insert(std::string(w.text(w.mapping_of(location).file)) + " " +
                     hex_of(location.address) + " " + w.lines(location));
  }
  // The name of 1fff is unknown here; a reader with the library's symbols may find it.
  CHECK(locations == std::set<std::string>{"[memflame] 0 server :0<0",
                                           "[memflame] 0 [truncated: x] :0<0", "/lib/liba.so 1fff ",
                                           "/bin/server 401010 inner a.c:5<3, main a.c:9<3",
                                           "/bin/server 401020 main a.c:10<3"});
  const Profile back = read_text(w.bytes, {}, with_code);
  CHECK(told(back) == told(m.profile));
  CHECK(packed(back) == w.bytes);
  CHECK(told(read_text(w.bytes)).size() == 3);
}

TEST_CASE("a tidied profile says what is left of it, where it was") {
  Made m;
  const StackId main = m.push({}, "main", m.outer, 9);
  m.profile.add(m.push(main, "inner", m.outer, 5, FrameKind::inlined), std::vector<int64_t>{64});
  const Profile renamed = rename_frames(m.profile, {Renaming("main=entry")});
  const Written named(renamed);
  REQUIRE(named.tables.locations.size() == 1);
  CHECK(named.lines(named.tables.locations[0]) == "inner a.c:5<3, entry a.c:9<3");
  const Written hidden(hide_frames(m.profile, {Pattern("--hide", "main")}));
  REQUIRE(hidden.tables.locations.size() == 1);
  CHECK(hidden.tables.locations[0].address == 0x401010);
  CHECK(hidden.lines(hidden.tables.locations[0]) == "inner a.c:5<3");
  Profile both = m.profile;
  Made other;  // another run, in which the same code was seen
  other.profile.add(other.push({}, "main", other.outer, 9), std::vector<int64_t>{1});
  merge(both, other.profile);
  CHECK(Written(both).tables.mappings.size() == 1);
}

TEST_CASE("names of code without symbols survive, wherever it is called from") {
  Made m;
  const CodeMappingId library = m.profile.code[m.start].mapping;
  // Two functions, an address past its symbol, and an address that a rule has named.
  for (const auto& [name, address] :
       std::vector<std::pair<std::string, uint64_t>>{{"[liba.so+0x1100]", 0x1104},
                                                     {"[liba.so+0x1100]", 0x1108},
                                                     {"[liba.so+0x1200]", 0x1200},
                                                     {"[liba.so+0x1301]", 0x1300},
                                                     {"[mine]", 0x1400}})
    m.profile.add(m.push({}, name, m.profile.code.add({library, address}), 0, FrameKind::unknown),
                  std::vector<int64_t>{1});
  const Written w(m.profile);
  size_t without_lines = 0;
  for (const pprof::Location& location : w.tables.locations)
    without_lines += location.first_line == location.last_line ? 1 : 0;
  CHECK(without_lines == 4);
  CHECK(told(read_text(w.bytes, {}, with_code)) == told(m.profile));
}

TEST_CASE("addresses outside of their mapping are not believed") {
  Made m;
  const CodeMappingId library = m.profile.code[m.start].mapping;
  m.profile.add(m.push({}, "f", m.profile.code.add({library, 0x9000}), 4), std::vector<int64_t>{1});
  std::ostringstream out;
  write_pprof(out, m.profile, {});
  CHECK(read_text(out.str(), {}, with_code).code.empty());
}
