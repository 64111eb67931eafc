// SPDX-License-Identifier: BSD-2-Clause
// Names of the code in one file.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collapse/symbolize/dwarf_index.h"
#include "collapse/symbolize/elf_file.h"
#include "collapse/symbolize/function_starts.h"
#include "collapse/symbolize/go_names.h"
#include "collapse/symbolize/symbol_table.h"

namespace memflame {

class ElfSymbols {
 public:
  // With `dwarf` it also reads inlined functions and source lines.
  ElfSymbols(const Module& module, bool dwarf, FileSource& files);

  ElfProblem problem() const { return file_.problem(); }
  bool unchecked() const { return file_.unchecked(); }
  bool is_packed() const { return file_.is_packed(); }
  std::optional<uint64_t> address_of(uint64_t offset) const { return file_.address_of(offset); }

  std::optional<CodeMapping> mapping_of(uint64_t offset) const { return file_.mapping_of(offset); }

  // The function at `address` and those inlined into it there, outermost first, names demangled,
  // Symbol::module left empty. Empty if nothing is known.
  std::vector<Symbol> find(uint64_t address);

  // The start of the function at `address` if its name is not known, by the unwind tables.
  std::optional<uint64_t> start_of(uint64_t address);

  // The symbol table's own text, for tests and for probes.
  std::string_view raw_name(uint64_t address) const;

 private:
  void read_symbols();
  void add_plt(std::vector<SymbolEntry>& entries);
  std::vector<Symbol> stripped(uint64_t address);

  ElfFile file_;
  std::deque<std::string> plt_names_;
  SymbolTable table_;
  std::unique_ptr<DwarfIndex> dwarf_;
  std::optional<FunctionStarts> starts_;  // read on first use
  std::optional<GoNames> go_;             // the same
  Dwarf_Addr dwarf_bias_ = 0;
};

}  // namespace memflame
