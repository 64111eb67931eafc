// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/dwarf_index.h"

#include <dwarf.h>

#include <algorithm>
#include <cstring>

#include "collapse/symbolize/dwarf_walk.h"

namespace memflame {
namespace {

Dwarf_Word number(Dwarf_Die& die, unsigned int name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_attr(&die, name, &attribute) == nullptr || dwarf_formudata(&attribute, &value) != 0)
    return 0;
  return value;
}

// The path of a source file; relative ones start where the compiler ran. It is the watched
// program's text, so it is cut to a length, at the front: the file's name is at its end.
std::string source_path(Dwarf_Die& unit, std::string_view file) {
  constexpr size_t longest = 4096;
  std::string path(file.substr(file.size() - std::min(file.size(), longest)));
  if (file.size() > longest) return "…" + path;
  Dwarf_Attribute attribute;
  if (file.starts_with('/') || dwarf_attr(&unit, DW_AT_comp_dir, &attribute) == nullptr)
    return path;
  const char* folder = dwarf_formstring(&attribute);
  if (folder == nullptr || *folder != '/' || std::strlen(folder) > longest) return path;
  return std::string(folder) + '/' + path;
}

// Sets file and line of the code at `address`, if the line table has them.
void set_line(Dwarf_Die& unit, uint64_t address, SourceFrame& frame) {
  Dwarf_Line* line = dwarf_getsrc_die(&unit, address);
  if (line == nullptr) return;
  int line_number = 0;
  const char* file = dwarf_linesrc(line, nullptr, nullptr);
  if (file == nullptr || dwarf_lineno(line, &line_number) != 0 || line_number <= 0) return;
  frame.file = source_path(unit, file);
  frame.line = static_cast<uint32_t>(line_number);
}

void set_call(Dwarf_Die& unit, Dwarf_Word call_file, uint32_t call_line, SourceFrame& frame) {
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (dwarf_getsrcfiles(&unit, &files, &count) != 0 || call_file >= count) return;
  const char* file = dwarf_filesrc(files, call_file, nullptr, nullptr);
  if (file == nullptr) return;
  frame.file = source_path(unit, file);
  frame.line = call_line;
}

// Assemblers write lines, but mostly no functions.
std::vector<SourceFrame> line_of_assembly(Dwarf_Die& unit, uint64_t address) {
  if (dwarf_srclang(&unit) != DW_LANG_Mips_Assembler) return {};
  SourceFrame frame;
  set_line(unit, address, frame);
  return frame.line == 0 ? std::vector<SourceFrame>{} : std::vector{frame};
}

// Sets where the function begins, if that is in the file of the code. A definition may leave this
// to its declaration, or to the function that it is a copy of.
void set_start(Dwarf_Die& unit, Dwarf_Die& die, SourceFrame& frame) {
  const char* file = dwarf_decl_file(&die);
  int line = 0;
  if (file != nullptr && frame.file == source_path(unit, file) &&
      dwarf_decl_line(&die, &line) == 0 && line > 0)
    frame.start_line = static_cast<uint32_t>(line);
}

}  // namespace

// Collects the functions of a unit.
struct DwarfIndex::UnitWalk {
  Unit& unit;
  uint32_t index;                   // of the unit
  IntervalIndex<uint32_t>* starts;  // where to note the unit's functions, too; or nullptr

  bool operator()(Dwarf_Die& die, uint32_t&) {
    switch (dwarf_tag(&die)) {
      case DW_TAG_subprogram:
        add(die);
        [[fallthrough]];  // functions can stand inside functions: lambdas and their classes
      case DW_TAG_namespace:
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type:
      case DW_TAG_enumeration_type:  // Rust's have functions
      case DW_TAG_module:
      case DW_TAG_lexical_block:
        return dwarf_haschildren(&die) > 0;
      default:
        return false;
    }
  }

  void add(Dwarf_Die& die) {
    bool known = false;
    each_range(die, [&](uint64_t start, uint64_t end) {
      if (!known) unit.functions.emplace_back().die = dwarf_dieoffset(&die);
      known = true;
      unit.ranges.add(start, end, static_cast<uint32_t>(unit.functions.size() - 1));
      if (starts != nullptr) starts->add(start, end, index);
    });
  }
};

// Collects the functions inlined into one function.
struct DwarfIndex::FunctionWalk {
  Function& function;

  bool operator()(Dwarf_Die& die, uint32_t& caller) {
    switch (dwarf_tag(&die)) {
      case DW_TAG_inlined_subroutine: {
        const uint32_t index = static_cast<uint32_t>(function.inlined.size());
        function.inlined.push_back({caller, dwarf_dieoffset(&die),
                                    static_cast<uint32_t>(number(die, DW_AT_call_line)),
                                    number(die, DW_AT_call_file)});
        each_range(die,
                   [&](uint64_t start, uint64_t end) { function.ranges.add(start, end, index); });
        caller = index + 1;
        return true;
      }
      case DW_TAG_lexical_block:
      case DW_TAG_try_block:
      case DW_TAG_catch_block:
        return true;
      default:
        return false;
    }
  }
};

// dwarf_get_units() would also open the .dwo files that skeleton units name. Those names come from
// the watched program, so they are left alone: such units give no inlined functions.
DwarfIndex::DwarfIndex(Dwarf* dwarf) : dwarf_(dwarf), names_(dwarf) {
  Dwarf_Off offset = 0, next = 0;
  size_t header = 0;
  for (; dwarf_next_unit(dwarf_, offset, &next, &header, nullptr, nullptr, nullptr, nullptr,
                         nullptr, nullptr) == 0 &&
         next > offset;
       offset = next) {
    Dwarf_Die die;
    if (dwarf_offdie(dwarf_, offset + header, &die) == nullptr) continue;
    const int tag = dwarf_tag(&die);
    if (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit) continue;
    const uint32_t index = static_cast<uint32_t>(units_.size());
    units_.emplace_back().die = dwarf_dieoffset(&die);
    bool ranges = false;
    each_range(die, [&](uint64_t start, uint64_t end) {
      unit_ranges_.add(start, end, index);
      ranges = true;
    });
    if (!ranges) units_without_ranges_.push_back(index);
  }
  unit_ranges_.build();
}

void DwarfIndex::read(Unit& unit, IntervalIndex<uint32_t>* starts) {
  Dwarf_Die die;
  if (unit.read || dwarf_offdie(dwarf_, unit.die, &die) == nullptr) return;
  unit.read = true;
  UnitWalk walk{unit, static_cast<uint32_t>(&unit - units_.data()), starts};
  walk_tree(die, walk);
  unit.ranges.build();
}

// Some compilers leave out the ranges of a unit; its functions then say where it is.
void DwarfIndex::read_units_without_ranges() {
  for (const uint32_t index : units_without_ranges_) read(units_[index], &unit_ranges_);
  units_without_ranges_.clear();
  unit_ranges_.build();
}

std::vector<SourceFrame> DwarfIndex::find(uint64_t address) {
  std::vector<SourceFrame> frames;
  const auto look = [&](uint32_t unit) {
    frames = find_in(units_[unit], address);
    return !frames.empty();
  };
  if (!unit_ranges_.visit(address, look) && !units_without_ranges_.empty()) {
    read_units_without_ranges();
    unit_ranges_.visit(address, look);
  }
  return frames;
}

std::vector<SourceFrame> DwarfIndex::find_in(Unit& unit, uint64_t address) {
  read(unit);
  Function* function = nullptr;
  unit.ranges.visit(address, [&](uint32_t index) {
    function = &unit.functions[index];
    return true;
  });
  Dwarf_Die unit_die, die;
  if (dwarf_offdie(dwarf_, unit.die, &unit_die) == nullptr) return {};
  if (function == nullptr) return line_of_assembly(unit_die, address);
  if (dwarf_offdie(dwarf_, function->die, &die) == nullptr) return {};
  if (!function->read) {
    function->read = true;
    FunctionWalk walk{*function};
    walk_tree(die, walk);
    function->ranges.build();
  }

  // Callers come before what they inline, so the innermost is the last one that holds the address.
  uint32_t innermost = 0;
  function->ranges.visit(address, [&](uint32_t index) {
    innermost = std::max(innermost, index + 1);
    return false;
  });

  // From there outwards: each frame is at the line where it calls the one before it.
  std::vector<SourceFrame> frames;
  SourceFrame frame;
  set_line(unit_die, address, frame);
  for (uint32_t i = innermost; i != 0; i = function->inlined[i - 1].caller) {
    const Inlined& inlined = function->inlined[i - 1];
    Dwarf_Die inlined_die;
    if (dwarf_offdie(dwarf_, inlined.die, &inlined_die) == nullptr) break;
    frame.function = names_.name(inlined_die);
    set_start(unit_die, inlined_die, frame);
    // A frame without any name would be an empty box.
    if (!frame.function.empty()) frames.push_back(std::move(frame));
    frame = {};
    set_call(unit_die, inlined.call_file, inlined.call_line, frame);
  }
  frame.function = names_.name(die);
  set_start(unit_die, die, frame);
  frames.push_back(std::move(frame));
  std::reverse(frames.begin(), frames.end());
  return frames;
}

}  // namespace memflame
