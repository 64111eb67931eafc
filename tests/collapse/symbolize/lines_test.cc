// SPDX-License-Identifier: BSD-2-Clause
// Compares source lines with those of binutils' addr2line, for addresses all over the code of
// programs of several compilers and with several kinds of debug information.
#include <doctest/doctest.h>
#include <elf.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <sstream>

#include "tests/collapse/symbolize/symbolize_fixture.h"

using namespace memflame;           // NOLINT(google-build-using-namespace): tests only
using namespace memflame::fixture;  // NOLINT(google-build-using-namespace)

namespace {

// "file:line" of an address, from the innermost inlined function outwards; "?" where unknown.
using Lines = std::vector<std::string>;

struct Code {
  uint64_t address = 0, offset = 0, size = 0;
};

// The parts of an ELF file that the test needs: its executable sections, and its functions.
struct ElfCode {
  std::vector<Code> code;
  std::vector<Code> functions;  // without their offsets
};

ElfCode elf_of(const std::string& path) {
  const std::string bytes = read_file(path);
  const auto at = [&]<class T>(uint64_t offset, T) {
    T value;
    REQUIRE(offset + sizeof value <= bytes.size());
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
  };
  const auto header = at(0, Elf64_Ehdr{});
  ElfCode elf;
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const auto section = at(header.e_shoff + i * sizeof(Elf64_Shdr), Elf64_Shdr{});
    if ((section.sh_flags & SHF_EXECINSTR) != 0)
      elf.code.push_back({section.sh_addr, section.sh_offset, section.sh_size});
    if (section.sh_type != SHT_SYMTAB) continue;
    for (uint64_t entry = 0; entry + sizeof(Elf64_Sym) <= section.sh_size;
         entry += sizeof(Elf64_Sym)) {
      const auto symbol = at(section.sh_offset + entry, Elf64_Sym{});
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF)
        elf.functions.push_back({symbol.st_value, 0, symbol.st_size});
    }
  }
  return elf;
}

// By symbolize(), as if the file were mapped at `base`.
std::vector<Lines> ours(const std::string& path, const std::vector<Code>& code,
                        const std::vector<uint64_t>& addresses) {
  constexpr uint64_t base = uint64_t{1} << 40;
  std::vector<MapLine> maps;
  maps.reserve(code.size());
  for (const Code& part : code)
    maps.push_back({base + part.address, base + part.address + part.size, part.offset, 0, path});
  Recording recording = record(maps);
  recording.stacks.resize(1);
  for (const uint64_t address : addresses) add_stack(recording, {{base + address, false}});
  symbolize(recording, {.debug_servers = false});
  std::vector<Lines> all;
  for (size_t i = 1; i < recording.stacks.size(); ++i) {
    Lines lines;
    for (const Symbol& symbol : recording.locations[recording.frames[i][0].index].symbols)
      lines.push_back(symbol.line == 0 ? "?" : symbol.file + ":" + std::to_string(symbol.line));
    std::reverse(lines.begin(), lines.end());
    all.push_back(std::move(lines));
  }
  return all;
}

std::vector<Lines> theirs(const std::string& path, const std::vector<uint64_t>& addresses,
                          const Scratch& scratch) {
  std::ostringstream input;
  for (const uint64_t address : addresses) input << std::hex << address << '\n';
  const std::string list = scratch.path / "addresses";
  write_file(list, input.str());
  FILE* pipe = ::popen(
      (std::string(GNU_ADDR2LINE) + " -a -i -e '" + path + "' < '" + list + "'").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string output;
  char buffer[4096];
  while (const size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, n);
  REQUIRE(::pclose(pipe) == 0);
  std::vector<Lines> all;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0x")) {
      all.emplace_back();
      continue;
    }
    line = line.substr(0, line.find(" (discriminator"));
    const bool unknown = line.ends_with(":?") || line.ends_with(":0");
    all.back().push_back(unknown ? "?" : line);
  }
  return all;
}

std::string text(const Lines& lines) {
  std::string out;
  for (const std::string& line : lines) out += (out.empty() ? "" : " <- ") + line;
  return out;
}

struct Result {
  size_t addresses = 0, known = 0;
};

// At most about 4,000 addresses all over the functions, which the file `symbols` lists.
std::vector<uint64_t> addresses_of(const std::string& symbols) {
  uint64_t bytes = 0;
  const ElfCode elf = elf_of(symbols);
  for (const Code& function : elf.functions) bytes += function.size;
  const uint64_t step = bytes / 4000 + 1;
  std::set<uint64_t> addresses;
  for (const Code& function : elf.functions)
    for (uint64_t i = 0; i < function.size; i += step) addresses.insert(function.address + i);
  return {addresses.begin(), addresses.end()};
}

Result compare(const std::string& path, const std::string& symbols) {
  const std::vector<uint64_t> addresses = addresses_of(symbols);
  REQUIRE_FALSE(addresses.empty());
  const Scratch scratch;
  const std::vector<Lines> expected = theirs(path, addresses, scratch);
  const std::vector<Lines> found = ours(path, elf_of(path).code, addresses);
  REQUIRE(expected.size() == addresses.size());
  REQUIRE(found.size() == addresses.size());
  Result result{addresses.size(), 0};
  size_t told = 0;
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (text(expected[i]) != "?") ++result.known;
    if (found[i] == expected[i] || ++told > 20) continue;
    std::ostringstream address;
    address << std::hex << addresses[i];
    CHECK_MESSAGE(false, path, " 0x", address.str(), ": ", text(found[i]), ", not ",
                  text(expected[i]));
  }
  CHECK(told == 0);
  return result;
}

}  // namespace

TEST_CASE("every line is that of addr2line") {
  if (std::string_view(GNU_ADDR2LINE).ends_with("NOTFOUND")) {
    MESSAGE("skipped: there is no addr2line here");
    return;
  }
  std::vector<std::pair<std::string, std::string>> programs;  // with what lists their functions
  const std::string folder = std::string(SYMBOLS) + "/";
  for (const char* name :
       {"pie", "dwarf4", "no_pie", "static_pie", "relocated", "library.so", "lld", "clang", "o3",
        "size", "c", "leaky", "assembly.so", "enumeration.so"})
    programs.emplace_back(folder + name, folder + name);
  programs.emplace_back(folder + "links/linked", folder + "links/.debug/linked.debug");
  const char* more = std::getenv("MEMFLAME_LINE_FILES");  // whoever runs the test may name programs
  std::istringstream examples(more ? more : "");
  for (std::string path; examples >> path;) programs.emplace_back(path, path);
  size_t compared = 0;
  for (const auto& [path, symbols] : programs) {
    if (!std::filesystem::exists(path)) {
      MESSAGE("skipped: ", path, " was not built here");
      continue;
    }
    const Result result = compare(path, symbols);
    MESSAGE(path, ": ", result.known, " of ", result.addresses, " addresses have lines");
    CHECK(result.known > 0);
    ++compared;
  }
  CHECK(compared >= 10);
}
