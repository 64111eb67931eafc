// SPDX-License-Identifier: BSD-2-Clause
// Names and lines of Go's functions in a stripped program.
#pragma once

#include <vector>

#include "collapse/symbolize/elf_file.h"
#include "core/elf/go_table.h"
#include "core/recording.h"

namespace memflame {

// Addresses are those of the file (see ElfFile), which must outlive this.
class GoNames {
 public:
  // Finds nothing in files without .gopclntab.
  explicit GoNames(const ElfFile& file) : program_(file.image(), file.headers()) {}

  // The function at an address and those inlined into it there, outermost first, with
  // Symbol::module left empty. Empty if the address is in no function of Go.
  std::vector<Symbol> find(uint64_t address) const;

 private:
  GoProgram program_;
};

}  // namespace memflame
