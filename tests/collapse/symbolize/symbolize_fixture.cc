// SPDX-License-Identifier: BSD-2-Clause
#include "tests/collapse/symbolize/symbolize_fixture.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>

#include "core/elf/build_id.h"

namespace memflame::fixture {

std::vector<MapLine> parse_maps(const std::string& text) {
  std::vector<MapLine> maps;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    MapLine map;
    std::string range, permissions, device;
    fields >> range >> permissions >> std::hex >> map.offset >> device >> std::dec >> map.inode;
    std::getline(fields >> std::ws, map.path);
    if (permissions.size() < 3 || permissions[2] != 'x') continue;
    map.start = std::stoull(range, nullptr, 16);
    map.end = std::stoull(range.substr(range.find('-') + 1), nullptr, 16);
    maps.push_back(map);
  }
  return maps;
}

Run run(const std::string& program) {
  Run result;
  FILE* pipe = ::popen(("'" + program + "'").c_str(), "r");
  if (pipe == nullptr) throw Error(program + " cannot be run");
  std::string output, maps;
  char buffer[4096];
  while (const size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, n);
  if (::pclose(pipe) != 0) throw Error(program + " failed");
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("map ")) maps += line.substr(4) + "\n";
    if (!line.starts_with("at ")) continue;
    std::istringstream fields(line.substr(3));
    std::string name, address;
    fields >> name >> address;
    result.at[name] = std::stoull(address, nullptr, 16);
  }
  result.maps = parse_maps(maps);
  return result;
}

SharedFd open_file(const std::string& path) {
  return SharedFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

ModuleId find_module(const Recording& recording, const std::string& path) {
  for (uint32_t i = 1; i < recording.modules.size(); ++i)
    if (recording.modules[i].path == path) return ModuleId{i};
  return {};
}

Recording record(const std::vector<MapLine>& maps) {
  Recording recording;
  Space& space = recording.spaces.emplace_back();
  space.pid = 1;
  space.comm = "fixture";
  for (const MapLine& map : maps) {
    ModuleId id = find_module(recording, map.path);
    if (!id) {
      id = ModuleId{static_cast<uint32_t>(recording.modules.size())};
      Module& module = recording.modules.emplace_back();
      module.path = map.path;
      module.inode = map.inode;
      module.kind = map.path == "[vdso]"        ? ModuleKind::vdso
                    : map.path.starts_with('/') ? ModuleKind::file
                                                : ModuleKind::anonymous;
      if (module.kind == ModuleKind::file) module.file = open_file(map.path);
      if (module.file.get() >= 0) module.build_id = build_id_of(module.file.get());
    }
    space.mappings.push_back({map.start, map.end, map.offset, id, 0, UINT64_MAX});
  }
  return recording;
}

RawStackId add_stack(Recording& recording, std::vector<Pc> pcs, uint32_t kernel_pcs) {
  RawStack& stack = recording.stacks.emplace_back();
  stack.space = SpaceId{1};
  stack.time_ns = 1;
  stack.pcs = std::move(pcs);
  stack.kernel_pcs = kernel_pcs;
  return RawStackId{static_cast<uint32_t>(recording.stacks.size() - 1)};
}

std::vector<Symbol> name(Recording& recording, Pc pc, const SymbolSources& sources) {
  recording.stacks.resize(1);
  const RawStackId stack = add_stack(recording, {pc});
  symbolize(recording, sources);
  const SymbolList& symbols = recording.locations[recording.frames[stack.index][0].index].symbols;
  return {symbols.begin(), symbols.end()};
}

uint32_t line_of(const std::string& source_path, const std::string& mark) {
  std::ifstream source(source_path);
  uint32_t number = 0;
  for (std::string line; std::getline(source, line);) {
    ++number;
    if (line.ends_with("// LINE " + mark)) return number;
  }
  throw Error(source_path + " has no line marked " + mark);
}

std::map<std::string, uint64_t> parse_nm(const std::string& path) {
  std::map<std::string, uint64_t> addresses;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string address, type, name;
    if (fields >> address >> type >> name && address.size() == 16)
      addresses[name] = std::stoull(address, nullptr, 16);
  }
  return addresses;
}

NameList functions(const std::vector<Symbol>& symbols) {
  NameList names;
  names.reserve(symbols.size());
  for (const Symbol& symbol : symbols) names.push_back(symbol.function);
  return names;
}

Scratch::Scratch()
    : path(std::filesystem::temp_directory_path() / ("memflame-" + std::to_string(::getpid()))) {
  std::filesystem::create_directories(path);
}

Case::Case(const std::string& program)
    : ran(run(program)), recording(record(ran.maps)), own(find_module(recording, program)) {
  if (!own) throw Error(program + " is not mapped in its own process");
}

}  // namespace memflame::fixture
