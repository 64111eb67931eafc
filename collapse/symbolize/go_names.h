// SPDX-License-Identifier: BSD-2-Clause
// Names of Go's functions in a stripped program.
#pragma once

#include <string_view>

#include "collapse/symbolize/elf_file.h"
#include "core/elf/go_table.h"

namespace memflame {

// Addresses are those of the file (see ElfFile). Inlined functions are not included.
class GoNames {
 public:
  // Finds nothing in files without .gopclntab.
  explicit GoNames(const ElfFile& file);

  // Empty if the address is in no function of Go.
  std::string_view name_of(uint64_t address) const;

 private:
  GoTable table_;
};

}  // namespace memflame
