// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/symbolize.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "tests/collapse/symbolize/symbolize_fixture.h"

using namespace memflame;           // NOLINT(google-build-using-namespace): tests only
using namespace memflame::fixture;  // NOLINT(google-build-using-namespace)
namespace fs = std::filesystem;

namespace {

const std::string files = SYMBOLS "/";
const std::string source = SYMBOL_SOURCES "/program.cc";

}  // namespace

TEST_CASE("inlined frames, lines and scopes, in every layout a linker makes") {
  std::vector<std::string> layouts{"pie",       "dwarf4",      "no_pie",     "far",
                                   "relocated", "one_segment", "static_pie", "no_id"};
  for (const char* optional : {"lld", "clang"})
    if (fs::exists(files + optional)) layouts.emplace_back(optional);
  for (const std::string& layout : layouts) {
    CAPTURE(layout);
    Case c(files + layout);
    const std::vector<Symbol> hold = c.at("hold");
    NameList names = functions(hold);
    REQUIRE(names.size() == 3);
    // For functions with internal linkage clang writes a linkage name with parameters, GCC writes
    // none.
    if (names[2].ends_with("()")) names[2].resize(names[2].size() - 2);
    CHECK(names == NameList{"int shapes::Box::hold<int>(int)", "shapes::inner(int)",
                            "(anonymous namespace)::hidden"});
    CHECK(hold[0].kind == FrameKind::user);
    CHECK(hold[1].kind == FrameKind::inlined);
    CHECK(hold[2].kind == FrameKind::inlined);
    CHECK(hold[0].line == line_of(source, "hold"));
    CHECK(hold[1].line == line_of(source, "inner"));
    CHECK(hold[2].line == line_of(source, "hidden"));
    for (const Symbol& symbol : hold) {
      CHECK(symbol.file.ends_with("program.cc"));
      CHECK(symbol.module == files + layout);
    }
    CHECK(functions(c.at("plain")) == NameList{"plain"});
    CHECK(c.at("plain")[0].line == line_of(source, "plain"));
    CHECK(functions(c.at("local")) == NameList{"local_only(int)"});
    CHECK(functions(c.at("lambda")).back().find("lambda") != std::string::npos);
    CHECK(c.at("lambda").back().line == line_of(source, "lambda"));
    CHECK(functions(c.at("plain_entry")) != NameList{});
    CHECK(count(c.recording, Loss::unknown_symbol) == 0);
    CHECK(c.recording.meta.notes.empty());
  }
}

TEST_CASE("an address is looked up as it is, a return address one byte before") {
  Case c(files + "pie");
  const uint64_t entry = c.ran.at.at("plain_entry");
  CHECK(functions(name(c.recording, {entry, false})) == NameList{"plain"});
  CHECK(functions(name(c.recording, {entry, true})) != NameList{"plain"});
  // last_call() ends with a call, so the return address is in the next function.
  const std::map<std::string, uint64_t> symbols = parse_nm(files + "pie.nm");
  const uint64_t last = c.ran.at.at("last_call_entry");
  uint64_t next = UINT64_MAX;
  for (const auto& [symbol, address] : symbols)
    if (address > symbols.at("last_call")) next = std::min(next, address);
  // endbr64, sub, call: at most 16 bytes, and the return address follows.
  CHECK(functions(name(c.recording, {last + 1, true})) == NameList{"last_call"});
  CHECK(next - symbols.at("last_call") <= 32);
}

TEST_CASE("without DWARF there are names, without inlined frames and lines") {
  Case c(files + "no_debug");
  const std::vector<Symbol> hold = c.at("hold");
  REQUIRE(functions(hold) == NameList{"int shapes::Box::hold<int>(int)"});
  CHECK(hold[0].line == 0);
  CHECK(hold[0].file.empty());
  Case with(files + "pie");
  CHECK(functions(with.at("hold", {.inlines = false})) == functions(hold));
}

TEST_CASE("split DWARF: the .dwo file, though it is there, is not opened; names are known") {
  Case c(files + "split");
  // GCC names it after the program, clang after the source.
  const bool there = fs::exists(files + "split-program.dwo") || fs::exists(files + "program.dwo");
  REQUIRE(there);
  CHECK(functions(c.at("plain")) == NameList{"plain"});
  CHECK(functions(c.at("hold")) == NameList{"int shapes::Box::hold<int>(int)"});
  CHECK(count(c.recording, Loss::unknown_symbol) == 0);
}

TEST_CASE("a stripped program: unknown, counted once per address, named by where it is") {
  Case c(files + "stripped");
  const std::vector<Symbol> hold = c.at("hold");
  REQUIRE(hold.size() == 1);
  CHECK(hold[0].kind == FrameKind::unknown);
  const std::map<std::string, uint64_t> symbols = parse_nm(files + "pie.nm");
  const uint64_t bias = c.ran.at.at("plain_entry") - symbols.at("plain");
  char expected[64];
  // Where its function begins.
  uint64_t start = 0;
  for (const auto& [name, at] : symbols)
    if (at < c.ran.at.at("hold") - bias) start = std::max(start, at);
  std::snprintf(expected, sizeof expected, "[stripped+0x%llx]",
                static_cast<unsigned long long>(start));
  CHECK(hold[0].function == expected);
  CHECK(count(c.recording, Loss::unknown_symbol) == 1);

  // Three stacks over two addresses: two unknown symbols.
  Case many(files + "stripped");
  const Pc hold_pc{many.ran.at.at("hold"), true}, plain_pc{many.ran.at.at("plain"), true};
  add_stack(many.recording, {hold_pc, plain_pc});
  add_stack(many.recording, {plain_pc});
  add_stack(many.recording, {plain_pc, hold_pc, hold_pc});
  symbolize(many.recording, {});
  CHECK(count(many.recording, Loss::unknown_symbol) == 2);
  CHECK(many.recording.locations.size() == 3);
  CHECK(many.recording.frames[1][1] == many.recording.frames[2][0]);
}

TEST_CASE("mappings count while they are there, the newest first") {
  Case c(files + "pie");
  const Pc pc{c.ran.at.at("plain"), true};
  Space& space = c.recording.spaces[1];
  const auto name_at = [&](uint64_t time) {
    c.recording.stacks.resize(1);
    c.recording.stacks[add_stack(c.recording, {pc}).index].time_ns = time;
    symbolize(c.recording, {});
    return c.recording.locations[1].symbols[0].function;
  };
  for (Mapping& m : space.mappings) m.from_ns = 100, m.until_ns = 200;
  CHECK(name_at(100) == "plain");
  CHECK(name_at(199) == "plain");
  CHECK(name_at(99).starts_with("[unmapped 0x"));
  CHECK(name_at(200).starts_with("[unmapped 0x"));
  CHECK_FALSE(c.recording.locations[1].is_code);
  CHECK(count(c.recording, Loss::unmapped_address) == 2);
  CHECK(count(c.recording, Loss::unknown_symbol) == 0);

  // Another file is mapped over it later, by MAP_FIXED.
  space.mappings.push_back(
      {pc.addr & ~uint64_t{4095}, (pc.addr & ~uint64_t{4095}) + 4096, 0, {}, 150, UINT64_MAX});
  CHECK(name_at(149) == "plain");
  CHECK(name_at(150).starts_with("[anon+0x"));
  CHECK(c.recording.locations[1].is_code);
}

TEST_CASE("a forked child has its parent's mappings as of the fork") {
  Case c(files + "pie");
  const Pc pc{c.ran.at.at("plain"), true};
  for (Mapping& m : c.recording.spaces[1].mappings) m.from_ns = 100, m.until_ns = 200;
  const auto add_space = [&](uint32_t parent, uint64_t from) {
    Space& space = c.recording.spaces.emplace_back();
    space.forked_from = SpaceId{parent};
    space.from_ns = from;
    return SpaceId{static_cast<uint32_t>(c.recording.spaces.size() - 1)};
  };
  const auto name_in = [&](SpaceId space, uint64_t time) {
    c.recording.stacks.resize(1);
    RawStack& stack = c.recording.stacks[add_stack(c.recording, {pc}).index];
    stack.space = space;
    stack.time_ns = time;
    symbolize(c.recording, {});
    return c.recording.locations[1].symbols[0].function;
  };
  const SpaceId child = add_space(1, 150), grandchild = add_space(child.index, 900);
  CHECK(name_in(child, 1000) == "plain");  // the parent's munmap at 200 is not the child's
  CHECK(name_in(grandchild, 1000) == "plain");
  CHECK(name_in(add_space(1, 250), 1000).starts_with("[unmapped"));
  const SpaceId self{static_cast<uint32_t>(c.recording.spaces.size())};
  CHECK(name_in(add_space(self.index, 150), 1000).starts_with("[unmapped"));
  CHECK(name_in(SpaceId{4000000000}, 1000).starts_with("[unmapped"));
}

TEST_CASE("JIT code is named by the perf map, in children too") {
  Recording recording = record({{0x10000, 0x20000, 0, 0, ""}});
  recording.spaces[1].perf_map = "10100 20 first\n10100 10 second\n";
  CHECK(name(recording, {0x10108, false})[0].function == "second");
  CHECK(name(recording, {0x10118, false})[0].function == "first");
  const Symbol jit = name(recording, {0x10120, true})[0];
  CHECK(jit.function == "first");
  CHECK(jit.kind == FrameKind::jit);
  CHECK(count(recording, Loss::unknown_symbol) == 0);
  CHECK(name(recording, {0x10120, false})[0].function == "[anon+0x120]");
  CHECK(count(recording, Loss::unknown_symbol) == 1);

  recording.spaces.emplace_back().forked_from = SpaceId{1};
  recording.stacks.resize(1);
  recording.stacks[add_stack(recording, {{0x10108, false}}).index].space = SpaceId{2};
  symbolize(recording, {});
  CHECK(recording.locations[1].symbols[0].function == "second");

  // So is a file in memory that is not an ELF file.
  Scratch scratch;
  write_file(scratch.path / "doublemapper", "\x90\x90\x90");
  Module& module = recording.modules.emplace_back();
  module.path = "/memfd:doublemapper (deleted)";
  module.file = open_file(scratch.path / "doublemapper");
  recording.spaces[1].mappings[0].module =
      ModuleId{static_cast<uint32_t>(recording.modules.size() - 1)};
  CHECK(name(recording, {0x10108, false})[0].function == "second");
  CHECK(name(recording, {0x10130, false})[0].function == "[memfd:doublemapper+0x130]");
}

TEST_CASE("kernel addresses") {
  Scratch scratch;
  const std::string kallsyms = scratch.path / "kallsyms";
  write_file(kallsyms,
             "ffffffff81000000 T _text\nffffffff81000100 T do_work\nffffffff81000200 D table\n"
             "ffffffffc0000000 t helper\t[toy]\nffffffffc0000080 t _RNvC3toy4main\t[toy]\n");
  Recording recording = record({});
  const Pc pcs[] = {{0xffffffff81000150, false},
                    {0xffffffffc0000080, true},
                    {0xffffffffc0000084, true},
                    {0xffffffff81000208, true},
                    {0xffffffff81000150, false}};
  add_stack(recording, {std::begin(pcs), std::end(pcs)}, 4);
  symbolize(recording, {.kallsyms_path = kallsyms});
  const auto frame = [&](size_t i) {
    return recording.locations[recording.frames[1][i].index].symbols[0];
  };
  CHECK(frame(0).function == "do_work");
  CHECK(frame(0).kind == FrameKind::kernel);
  CHECK(frame(0).module == "kernel");
  CHECK(frame(1).function == "helper");
  CHECK(frame(1).module == "[toy]");
  CHECK(frame(2).function == "toy::main");
  CHECK(frame(3).function == "[kernel 0xffffffff81000208]");
  CHECK(frame(3).kind == FrameKind::kernel);
  // The same number in the user part of the stack is not a kernel address.
  CHECK(frame(4).function == "[unmapped 0xffffffff81000150]");
  CHECK(count(recording, Loss::unknown_symbol) == 1);
  CHECK(count(recording, Loss::unmapped_address) == 1);
  CHECK_FALSE(recording.locations[recording.frames[1][0].index].space);

  write_file(kallsyms, "0000000000000000 T _text\n0000000000000000 T do_work\n");
  Recording hidden = record({});
  add_stack(hidden, {pcs[0]}, 1);
  symbolize(hidden, {.kallsyms_path = kallsyms});
  CHECK(hidden.locations[1].symbols[0].function == "[kernel 0xffffffff81000150]");
  CHECK(hidden.meta.notes.size() == 1);
  CHECK(count(hidden, Loss::unknown_symbol) == 1);
}

TEST_CASE("the vsyscall page") {
  Recording recording = record({});
  CHECK(name(recording, {0xffffffffff600000, false})[0].function == "gettimeofday");
  CHECK(name(recording, {0xffffffffff600409, true})[0].function == "time");
  const Symbol getcpu = name(recording, {0xffffffffff600800, false})[0];
  CHECK(getcpu.function == "getcpu");
  CHECK(getcpu.module == "[vsyscall]");
  CHECK(name(recording, {0xffffffffff600c00, false})[0].function == "[vsyscall+0xc00]");
  CHECK(name(recording, {0xffffffffff601000, false})[0].function ==
        "[unmapped 0xffffffffff601000]");
}

namespace {

// The advice for ten frames in files and `nameless` frames without a name, in a process with this
// map.
std::vector<std::string> advice(const std::string& file, size_t nameless, const char* map = "") {
  Recording recording = record({{0x10000, 0x20000, 0, 0, ""}});
  recording.modules.emplace_back().path = "/usr/lib/" + file;
  const ModuleId module{static_cast<uint32_t>(recording.modules.size() - 1)};
  recording.spaces[1].mappings.push_back({.start = 0x30000, .end = 0x40000, .module = module});
  recording.spaces[1].pid = 77;
  recording.spaces[1].perf_map = map;
  std::vector<Pc> pcs(10, Pc{0x30010, true});
  pcs.insert(pcs.end(), nameless, Pc{0x10010, true});
  Aggregate& sum = recording.sums.emplace_back();
  sum.stack = add_stack(recording, pcs);
  sum.events = 100;
  symbolize(recording, {.files = false});
  std::erase_if(recording.meta.notes,
                [](const std::string& note) { return note.find("of the frames") == note.npos; });
  return recording.meta.notes;
}

}  // namespace

TEST_CASE("much code without a name: what to do is said by what the process is") {
  const auto says = [](const std::vector<std::string>& notes, const std::string& what) {
    return notes.size() == 1 && notes[0].find(what) != std::string::npos;
  };
  CHECK(says(advice("node", 2), "--perf-basic-prof"));
  CHECK(says(advice("nodejs", 2), "16.7 % of the frames"));
  CHECK(says(advice("libpython3.12.so.1.0", 2), "PYTHONPERFSUPPORT=1"));
  CHECK(says(advice("libcoreclr.so", 2), "DOTNET_PerfMapEnabled=1"));
  CHECK(says(advice("libruby-3.3.so.3.3", 2), "--yjit-perf=map"));
  CHECK(says(advice("node_exporter", 2), "/tmp/perf-77.map names it"));
  CHECK(says(advice("node", 2, "50000 10 other"), "perf map does not have"));
  // A tenth is not more than a tenth; for Java, without a map, one frame is enough.
  CHECK(advice("node", 1).empty());
  CHECK(advice("libjvm.so", 0).empty());
  CHECK(says(advice("libjvm.so", 1), "jcmd 77 Compiler.perfmap"));
  CHECK(advice("libjvm.so", 1, "50000 10 other").empty());
}

TEST_CASE("functions of interpreted languages are named by the recording's own table") {
  Recording recording;
  Space& space = recording.spaces.emplace_back();
  space.pid = 77;
  recording.scripts.push_back({.language = Language::python,
                               .function = "Server.handle",
                               .file = "/srv/app.py",
                               .first_line = 40,
                               .lines = "\xd8\x01\x01"});  // one line further
  recording.scripts.push_back({.language = Language::none,
                               .function = "[python: unreadable]",
                               .file = {},
                               .first_line = 0,
                               .lines = {}});
  RawStack& stack = recording.stacks.emplace_back();
  stack.space = SpaceId{1};
  stack.pcs = {script_pc(1, 0), script_pc(1, script_no_place), script_pc(2, 0), script_pc(9, 0)};
  symbolize(recording, {.debug_servers = false});
  const auto symbol = [&](size_t i) {
    return recording.locations[recording.frames[1][i].index].symbols.front();
  };
  CHECK(symbol(0).function == "Server.handle (app.py:41)");
  CHECK(symbol(0).file == "/srv/app.py");
  CHECK(symbol(0).module == "/srv/app.py");
  CHECK(symbol(0).line == 41);
  CHECK(symbol(0).start_line == 40);
  CHECK(symbol(1).function == "Server.handle (app.py:40)");
  CHECK(symbol(2).function == "[python: unreadable]");
  CHECK(symbol(2).kind == FrameKind::unknown);
  CHECK(symbol(3).function == "[python: unreadable]");
}
