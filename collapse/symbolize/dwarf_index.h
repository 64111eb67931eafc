// SPDX-License-Identifier: BSD-2-Clause
// Which functions are inlined at an address, and its place in the source.
#pragma once

#include <elfutils/libdw.h>

#include <string>
#include <vector>

#include "collapse/symbolize/dwarf_names.h"
#include "collapse/symbolize/interval_index.h"

namespace memflame {

struct SourceFrame {
  std::string function;  // demangled; empty if unknown
  std::string file;
  uint32_t start_line = 0;  // where the function begins in the same file; 0 if unknown
  uint32_t line = 0;        // where it calls the next frame, or where the address itself is
};

// libdw answers such questions by walking a whole compile unit for every address (dwarf_getscopes),
// which takes minutes for thousands of addresses of a big program. Here each unit that is needed is
// walked once, and each function that is needed once more.
class DwarfIndex {
 public:
  explicit DwarfIndex(Dwarf* dwarf);

  // Outermost first: the function itself, then what is inlined into it at `address`. A function in
  // assembly may have no name. Empty if the address is in no function.
  std::vector<SourceFrame> find(uint64_t address);

 private:
  struct Inlined {
    uint32_t caller;  // index in Function::inlined + 1; 0: the function itself
    Dwarf_Off die;
    uint32_t call_line;
    Dwarf_Word call_file;
  };
  struct Function {
    Dwarf_Off die = 0;
    bool read = false;
    std::vector<Inlined> inlined;    // callers before what they inline
    IntervalIndex<uint32_t> ranges;  // of addresses -> index in inlined
  };
  struct Unit {
    Dwarf_Off die = 0;
    bool read = false;
    std::vector<Function> functions;
    IntervalIndex<uint32_t> ranges;  // of addresses -> index in functions
  };
  struct UnitWalk;
  struct FunctionWalk;

  void read_units_without_ranges();
  std::vector<SourceFrame> find_in(Unit& unit, uint64_t address);
  void read(Unit& unit, IntervalIndex<uint32_t>* starts = nullptr);

  Dwarf* dwarf_;
  std::vector<Unit> units_;
  IntervalIndex<uint32_t> unit_ranges_;
  std::vector<uint32_t> units_without_ranges_;
  DwarfNames names_;
};

}  // namespace memflame
