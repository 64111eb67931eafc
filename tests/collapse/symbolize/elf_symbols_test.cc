// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/elf_symbols.h"

#include <doctest/doctest.h>
#include <elf.h>

#include <cstring>
#include <memory>
#include <sstream>

#include "collapse/symbolize/dwarf_index.h"
#include "collapse/symbolize/vdso.h"
#include "tests/collapse/symbolize/symbolize_fixture.h"

using namespace memflame;           // NOLINT(google-build-using-namespace): tests only
using namespace memflame::fixture;  // NOLINT(google-build-using-namespace)

namespace {

const std::string files = SYMBOLS "/";

Module module_of(const std::string& path) {
  Module module;
  module.path = path;
  module.file = open_file(path);
  REQUIRE(module.file.get() >= 0);
  return module;
}

struct Opened {
  explicit Opened(const std::string& file)
      : module(module_of(files + file)), symbols(module, true, opener) {}
  std::string name(uint64_t address) {
    const std::vector<Symbol> found = symbols.find(address);
    return found.empty() ? "" : found.front().function;
  }
  Module module;
  DebuginfodBudget budget;
  OwnFiles opener{module, budget};
  ElfSymbols symbols;
};

}  // namespace

TEST_CASE("the best of several names, by rule and not by order") {
  const std::map<std::string, uint64_t> at = parse_nm(files + "edges.so.nm");
  Opened edges("edges.so");
  REQUIRE(edges.symbols.problem() == ElfProblem::none);
  CHECK(edges.name(at.at("edge_alias")) == "edge_alias");
  CHECK(edges.name(at.at("edge_alias") + 31) == "edge_alias");
  CHECK(edges.name(at.at("real_function")) == "real_function");
  CHECK(at.at("bare") == at.at("real_function"));
}

TEST_CASE("sizes: the innermost function, padding, gaps, symbols without a size") {
  const std::map<std::string, uint64_t> at = parse_nm(files + "edges.so.nm");
  Opened edges("edges.so");
  CHECK(edges.name(at.at("outer")) == "outer");
  CHECK(edges.name(at.at("nested")) == "nested");
  CHECK(edges.name(at.at("nested") + 15) == "nested");
  CHECK(edges.name(at.at("inside_label")) == "outer");
  CHECK(edges.name(at.at("outer") + 63) == "outer");
  CHECK(edges.name(at.at("odd") + 10) == "odd");
  CHECK(edges.name(at.at("odd") + 15) == "odd");  // padding
  CHECK(edges.name(at.at("odd") + 16).empty());
  CHECK(edges.name(at.at("unsized_one") - 1).empty());
  CHECK(edges.name(at.at("unsized_one")) == "unsized_one");
  CHECK(edges.name(at.at("unsized_two") - 1) == "unsized_one");
  CHECK(edges.name(at.at("after") - 1) == "unsized_two");
  CHECK(edges.name(at.at("after")) == "after");
  CHECK(edges.name(at.at("after") + 4096).empty());
}

TEST_CASE("a function of an enumeration has its scope") {
  const std::map<std::string, uint64_t> at = parse_nm(files + "enumeration.so.nm");
  const SharedFd file = open_file(files + "enumeration.so");
  const std::unique_ptr<Dwarf, decltype(&dwarf_end)> dwarf(dwarf_begin(file.get(), DWARF_C_READ),
                                                           dwarf_end);
  const std::vector<SourceFrame> frames = DwarfIndex(dwarf.get()).find(at.at("overflow"));
  REQUIRE(frames.size() == 1);
  CHECK(frames[0].function == "Number::overflow");
}

TEST_CASE("a stripped library: only what it exports, and nothing called by a neighbour's name") {
  const std::map<std::string, uint64_t> at = parse_nm(files + "library.so.nm");
  Opened library("stripped.so");
  CHECK(library.name(at.at("_ZN5shelf7visibleEm")) == "shelf::visible(unsigned long)");
  CHECK(library.name(at.at("_ZN5shelf7releaseEPv")) == "shelf::release(void*)");
  CHECK(library.name(at.at("_ZN5shelf6secretEm")).empty());
  CHECK(Opened("library.so").name(at.at("_ZN5shelf6secretEm")) == "shelf::secret(unsigned long)");
}

TEST_CASE("a file without section headers: names through the dynamic segment") {
  std::string bytes = read_file(files + "library.so");
  Elf64_Ehdr header;
  REQUIRE(bytes.size() > sizeof header);
  std::memcpy(&header, bytes.data(), sizeof header);
  bytes.resize(header.e_shoff);
  header.e_shoff = header.e_shnum = header.e_shstrndx = 0;
  std::memcpy(bytes.data(), &header, sizeof header);
  write_file(files + "no_sections.so", bytes);
  const std::map<std::string, uint64_t> at = parse_nm(files + "library.so.nm");
  Opened library("no_sections.so");
  CHECK(library.symbols.problem() == ElfProblem::none);
  CHECK(library.name(at.at("_ZN5shelf7visibleEm") + 1) == "shelf::visible(unsigned long)");
}

// objdump computes the names of stubs, too: "0000000000001030 <malloc@plt>:".
TEST_CASE("stubs of the procedure linkage table are named as objdump names them") {
  const std::string names[] = {"library", "library_ibt"};
  for (const std::string& name : names) {
    CAPTURE(name);
    Opened library(name + ".so");
    Opened stripped(name == "library" ? "stripped.so" : "library_ibt.so");
    std::istringstream listing(read_file(files + name + ".stubs"));
    int stubs = 0;
    for (std::string line; std::getline(listing, line);) {
      const size_t open = line.find('<'), end = line.find("@plt>:");
      if (end == std::string::npos || open == std::string::npos) continue;
      const uint64_t address = std::stoull(line, nullptr, 16);
      const std::string expected = line.substr(open + 1, end - open - 1) + "@plt";
      CHECK(library.name(address) == expected);
      CHECK(library.name(address + 4) == expected);
      CHECK(stripped.name(address) == expected);
      ++stubs;
    }
    CHECK(stubs >= 2);  // malloc and free
  }
}

TEST_CASE("a static program: malloc is not __malloc, stubs lead to functions chosen at start") {
  Opened program("static_pie");
  const std::map<std::string, uint64_t> at = parse_nm(files + "static_pie.nm");
  CHECK(program.name(at.at("malloc")) == "malloc");
  CHECK(program.name(at.at("main")) == "main");
  // "    9030:	ff 25 ca 6f 0a 00 …": the address of a jump, in a section that is all stubs.
  std::istringstream listing(read_file(files + "static_pie.stubs"));
  const std::string symbols = read_file(files + "static_pie.nm");
  int stubs = 0;
  for (std::string line; std::getline(listing, line);) {
    if (line.find(":\tff 25") == std::string::npos) continue;
    std::string name = program.name(std::stoull(line, nullptr, 16));
    if (name.empty()) continue;  // the first one calls the dynamic linker
    REQUIRE(name.ends_with("@plt"));
    name.resize(name.size() - 4);
    CAPTURE(name);
    CHECK(symbols.find(" i " + name + "\n") != std::string::npos);
    ++stubs;
  }
  CHECK(stubs > 5);
}

TEST_CASE("file offsets become addresses by the program headers") {
  const char* layouts[] = {"pie", "no_pie", "far", "relocated", "one_segment", "static_pie"};
  for (const char* layout : layouts) {
    CAPTURE(layout);
    const std::string bytes = read_file(files + layout);
    Opened program(layout);
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    for (int i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr segment;
      std::memcpy(&segment, &bytes[header.e_phoff + static_cast<size_t>(i) * sizeof segment],
                  sizeof segment);
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
      CHECK(program.symbols.address_of(segment.p_offset) == segment.p_vaddr);
      CHECK(program.symbols.address_of(segment.p_offset + segment.p_filesz - 1) ==
            segment.p_vaddr + segment.p_filesz - 1);
    }
    CHECK_FALSE(program.symbols.address_of(bytes.size() + 4096));
  }
}

TEST_CASE("the vdso is a file with names") {
  Module module;
  module.path = "[vdso]";
  module.kind = ModuleKind::vdso;
  DebuginfodBudget budget;
  OwnFiles opener(module, budget);
  ElfSymbols vdso(module, true, opener);
  REQUIRE(vdso.problem() == ElfProblem::none);
  module.build_id = std::string(40, '0');
  CHECK(ElfSymbols(module, true, opener).problem() == ElfProblem::replaced);
}

TEST_CASE("what is not a usable ELF file") {
  DebuginfodBudget budget;
  const std::string path = files + "unusable";
  const auto problem = [&](const std::string& bytes) {
    write_file(path, bytes);
    const Module module = module_of(path);
    OwnFiles opener(module, budget);
    return ElfSymbols(module, true, opener).problem();
  };
  CHECK(problem("") == ElfProblem::not_elf);
  CHECK(problem("#!/bin/sh\n") == ElfProblem::not_elf);
  CHECK(problem("\x7f"
                "ELF") == ElfProblem::not_elf);
  CHECK(problem(read_file(files + "pie").substr(0, 70)) == ElfProblem::not_elf);
  Module missing;
  missing.path = files + "missing";
  OwnFiles opener(missing, budget);
  CHECK(ElfSymbols(missing, true, opener).problem() == ElfProblem::unreadable);
}
