// Recordings of real processes, without eBPF: from what /proc and the fixture programs say.
#pragma once

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

// What a run of data/symbols/program.cc printed.
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

// The names of what is at the leaf of the only stack, outermost first.
std::vector<Symbol> name(Recording& recording, Pc pc, const SymbolSources& sources = {});

// Index of the module of that file; none when the recording has no such module.
ModuleId find_module(const Recording& recording, const std::string& path);

// Line of data/symbols/<source> that is marked "LINE <mark>".
uint32_t line_of(const std::string& source_path, const std::string& mark);

// Addresses by name, as nm printed them.
std::map<std::string, uint64_t> parse_nm(const std::string& path);

}  // namespace memflame::fixture
