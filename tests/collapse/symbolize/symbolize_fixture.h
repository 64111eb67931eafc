// SPDX-License-Identifier: BSD-2-Clause
// Recordings of real processes without eBPF, from /proc and the output of fixture programs.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "collapse/symbolize/symbolize.h"
#include "core/recording.h"

namespace memflame::fixture {

// Executable lines of /proc/PID/maps.
struct MapLine {
  uint64_t start = 0, end = 0, offset = 0, inode = 0;
  std::string path;
};
std::vector<MapLine> parse_maps(const std::string& text);

// The output of a run of data/symbols/program.cc.
struct Run {
  std::vector<MapLine> maps;
  std::map<std::string, uint64_t> at;
};
Run run(const std::string& program);

SharedFd open_file(const std::string& path);
std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& text);

// A recording with one space of these mappings. Modules are opened and have their build ids.
Recording record(const std::vector<MapLine>& maps);

// Adds a stack (leaf first) and returns its id.
RawStackId add_stack(Recording& recording, std::vector<Pc> pcs, uint32_t kernel_pcs = 0);

// The names at the leaf of the only stack, outermost first.
std::vector<Symbol> name(Recording& recording, Pc pc, const SymbolSources& sources = {});

// Index of the module of that file; none when the recording has no such module.
ModuleId find_module(const Recording& recording, const std::string& path);

// Line of data/symbols/<source> that is marked "LINE <mark>".
uint32_t line_of(const std::string& source_path, const std::string& mark);

// Addresses by name, as nm printed them.
std::map<std::string, uint64_t> parse_nm(const std::string& path);

using NameList = std::vector<std::string>;
NameList functions(const std::vector<Symbol>& symbols);

inline uint64_t count(const Recording& recording, Loss loss) {
  return recording.losses[loss].events;
}

// A temporary folder for the files of one test.
struct Scratch {
  Scratch();
  ~Scratch() { std::filesystem::remove_all(path); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::filesystem::path path;
};

// A run of a fixture program, and a recording of it in which the test may change things.
struct Case {
  explicit Case(const std::string& program);
  Module& module() { return recording.modules[own.index]; }
  // The names at the return address that the program prints under this name.
  std::vector<Symbol> at(const std::string& place, const SymbolSources& sources = {}) {
    return name(recording, {ran.at.at(place), true}, sources);
  }
  Run ran;
  Recording recording;
  ModuleId own;
};

}  // namespace memflame::fixture
