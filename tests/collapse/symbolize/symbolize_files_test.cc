// SPDX-License-Identifier: BSD-2-Clause
// Which file names are read from: debug files, and files that are deleted, replaced or unreachable.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "core/elf/build_id.h"
#include "tests/collapse/symbolize/symbolize_fixture.h"

using namespace memflame;           // NOLINT(google-build-using-namespace): tests only
using namespace memflame::fixture;  // NOLINT(google-build-using-namespace)
namespace fs = std::filesystem;

namespace {

const std::string files = SYMBOLS "/";
const std::string source = SYMBOL_SOURCES "/program.cc";

}  // namespace

TEST_CASE("debug files are found by build id, also below the root of a container") {
  Scratch scratch;
  const std::string id = build_id_of(open_file(files + "stripped").get());
  const fs::path debug = scratch.path / "usr/lib/debug/.build-id" / id.substr(0, 2);
  fs::create_directories(debug);
  const fs::path file = debug / (id.substr(2) + ".debug");

  Case c(files + "stripped");
  c.module().root = scratch.path;
  SUBCASE("in place") { fs::copy_file(files + "stripped.debug", file); }
  SUBCASE("an absolute link is one of the container") {
    fs::create_directories(scratch.path / "data");
    fs::copy_file(files + "stripped.debug", scratch.path / "data/x");
    fs::create_symlink("/data/x", file);
  }
  CHECK(c.at("hold").size() == 3);
  CHECK(functions(c.at("local")) == NameList{"local_only(int)"});
  CHECK(c.at("plain")[0].line == line_of(source, "plain"));
}

TEST_CASE("debug files that do not belong to the program, or are not files, are not used") {
  Scratch scratch;
  const std::string id = build_id_of(open_file(files + "stripped").get());
  const fs::path debug = scratch.path / "usr/lib/debug/.build-id" / id.substr(0, 2);
  fs::create_directories(debug);
  const fs::path file = debug / (id.substr(2) + ".debug");
  SUBCASE("another program") { fs::copy_file(files + "dwarf4", file); }
  SUBCASE("a pipe, which would wait for ever") { REQUIRE(::mkfifo(file.c_str(), 0600) == 0); }
  SUBCASE("a device") { fs::create_symlink("/dev/zero", file); }
  SUBCASE("a link out of the container") { fs::create_symlink(files + "stripped.debug", file); }
  SUBCASE("a directory") { fs::create_directories(file); }
  SUBCASE("text") { write_file(file, "not an ELF file"); }
  SUBCASE("a few bytes of ELF") {
    write_file(file, read_file(files + "stripped.debug").substr(0, 100));
  }
  Case c(files + "stripped");
  c.module().root = scratch.path;
  CHECK(c.at("hold")[0].kind == FrameKind::unknown);
}

TEST_CASE("names are without lines where these would take too much memory") {
  Case c(files + "large");
  const SymbolSources little{.used_bytes = uint64_t{48} << 20};
  CHECK(functions(c.at("hold", little)) == NameList{"int shapes::Box::hold<int>(int)"});
  CHECK(functions(c.at("local", little)) == NameList{"local_only(int)"});
  CHECK(c.at("plain", little)[0].line == 0);
  CHECK(count(c.recording, Loss::unknown_symbol) == 0);
  const std::vector<std::string>& notes = c.recording.meta.notes;
  REQUIRE(!notes.empty());
  CHECK(notes[0] ==
        files +
            "large: names are without inlined functions and source lines, as with these "
            "the process that reads names took more than 48.0 MiB of memory");
  Case whole(files + "large");
  CHECK(whole.at("hold").size() == 3);
}

TEST_CASE("debug files are found by link and checksum") {
  Case linked(files + "links/linked");
  CHECK(linked.at("hold").size() == 3);
  CHECK(linked.at("plain")[0].line == line_of(source, "plain"));
  Case stale(files + "links/stale");
  CHECK(stale.at("hold")[0].kind == FrameKind::unknown);
}

TEST_CASE("debug links are looked for in the root of the target") {
  Scratch scratch;
  fs::create_directories(scratch.path / "opt/app/.debug");
  fs::create_directories(scratch.path / "usr/lib/debug/opt/app");
  Case c(files + "links/linked");
  c.module().path = "/opt/app/linked";
  c.module().root = scratch.path;
  CHECK(c.at("hold")[0].kind == FrameKind::unknown);
  const char* places[] = {"opt/app", "opt/app/.debug", "usr/lib/debug/opt/app"};
  for (const char* place : places) {
    CAPTURE(place);
    const fs::path file = scratch.path / place / "linked.debug";
    fs::copy_file(files + "links/.debug/linked.debug", file);
    CHECK(c.at("hold").size() == 3);
    fs::remove(file);
  }
}

TEST_CASE("MiniDebugInfo names local functions" * doctest::skip(!fs::exists(files + "mini"))) {
  Case c(files + "mini");
  CHECK(functions(c.at("plain")) == NameList{"plain"});
  CHECK(functions(c.at("local")) == NameList{"local_only(int)"});
  CHECK(c.at("hold")[0].kind == FrameKind::unknown);  // was left out of the table
}

TEST_CASE("a deleted file is read through the descriptor that was opened in time") {
  Scratch scratch;
  const std::string path = scratch.path / "program";
  fs::copy_file(files + "pie", path);
  Case c(path);
  fs::remove(path);
  c.module().path += " (deleted)";
  CHECK(c.at("hold").size() == 3);
}

TEST_CASE("a file that was not opened in time is opened by name, if it is still the same") {
  Scratch scratch;
  const std::string path = scratch.path / "program";
  fs::copy_file(files + "pie", path);
  Case c(path);
  c.module().file = SharedFd();
  SUBCASE("the same build id") { CHECK(c.at("hold").size() == 3); }
  SUBCASE("no build id, the same inode") {
    c.module().build_id.clear();
    CHECK(c.at("hold").size() == 3);
  }
  SUBCASE("no build id, another inode") {
    c.module().build_id.clear();
    c.module().inode += 1;
    CHECK(c.at("hold")[0].kind == FrameKind::unknown);
    CHECK(c.recording.meta.notes.size() == 1);
  }
  SUBCASE("in the root of a container") {
    c.module().root = scratch.path;
    c.module().path = "/program";
    CHECK(c.at("hold").size() == 3);
  }
  SUBCASE("replaced") {
    fs::remove(path);
    fs::copy_file(files + "dwarf4", path);
    CHECK(c.at("hold")[0].kind == FrameKind::unknown);
    CHECK(c.recording.meta.notes ==
          NameList{path + ": names unknown, the file was replaced since it was mapped"});
    CHECK(count(c.recording, Loss::unknown_symbol) == 1);
  }
  SUBCASE("gone") {
    fs::remove(path);
    CHECK(c.at("hold")[0].kind == FrameKind::unknown);
    CHECK(c.recording.meta.notes ==
          NameList{path + ": names unknown, the file could not be opened"});
  }
}

// dwz moves debug information that two files share into a third, and writes its name and build id
// into both.
TEST_CASE("DWARF that refers to a second file is used with it or not at all") {
  Scratch scratch;
  const std::string id = build_id_of(open_file(files + "dwarf4").get());
  const fs::path trap = scratch.path / "trap";
  REQUIRE(::mkfifo(trap.c_str(), 0600) == 0);  // whoever opens it waits for ever
  std::string link = trap.string() + '\0';
  for (size_t i = 0; i < id.size(); i += 2)
    link += static_cast<char>(std::stoi(id.substr(i, 2), nullptr, 16));
  write_file(scratch.path / "link", link);
  const std::string program = scratch.path / "program";
  const std::string command =
      GNU_OBJCOPY " --add-section .gnu_debugaltlink=" + (scratch.path / "link").string() + " " +
      files + "pie " + program;
  REQUIRE(std::system(command.c_str()) == 0);

  Case c(program);
  c.module().root = scratch.path;
  CHECK(functions(c.at("hold")) == NameList{"int shapes::Box::hold<int>(int)"});
  const fs::path debug = scratch.path / "usr/lib/debug/.build-id" / id.substr(0, 2);
  fs::create_directories(debug);
  fs::copy_file(files + "dwarf4", debug / (id.substr(2) + ".debug"));
  CHECK(c.at("hold").size() == 3);
}

TEST_CASE("files that dwz has worked on" * doctest::skip(!fs::exists(files + "dwz/a"))) {
  Scratch scratch;
  const std::string id = build_id_of(open_file(files + "dwz/shared").get());
  const fs::path debug = scratch.path / "usr/lib/debug/.build-id" / id.substr(0, 2);
  fs::create_directories(debug);
  for (const std::string name : {"dwz/a", "dwz/b"}) {
    CAPTURE(name);
    const fs::path file = debug / (id.substr(2) + ".debug");
    fs::remove(file);
    Case c(files + name);
    c.module().root = scratch.path;
    CHECK(functions(c.at("hold")) == NameList{"int shapes::Box::hold<int>(int)"});
    fs::copy_file(files + "dwz/shared", file);
    const std::vector<Symbol> hold = c.at("hold");
    CHECK(functions(hold) == NameList{"int shapes::Box::hold<int>(int)", "shapes::inner(int)",
                                      "(anonymous namespace)::hidden"});
    CHECK(hold.back().line == line_of(source, "hidden"));
  }
}

TEST_CASE("a perf map names code in a file that cannot be opened") {
  Recording recording = record({{0x10000, 0x20000, 0, 0, ""}});
  recording.spaces[1].perf_map = "10100 20 compiled\n";
  Module& module = recording.modules.emplace_back();
  module.path = "/memfd:doublemapper (deleted)";
  recording.spaces[1].mappings[0].module =
      ModuleId{static_cast<uint32_t>(recording.modules.size() - 1)};
  CHECK(name(recording, {0x10108, false})[0].function == "compiled");
  CHECK(recording.meta.notes.empty());
  CHECK(name(recording, {0x10130, false})[0].function == "[memfd:doublemapper+0x130]");
  CHECK(recording.meta.notes.size() == 1);
}
