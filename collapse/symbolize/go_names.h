// SPDX-License-Identifier: BSD-2-Clause
// Names of Go's functions in a stripped program.
#pragma once

#include <optional>
#include <string_view>

#include "collapse/symbolize/elf_file.h"
#include "core/go_functions.h"

namespace memflame {

// Addresses are those of the file (see ElfFile). Inlined functions are not included.
class GoNames {
 public:
  // Finds nothing in files without .gopclntab. The file must stay open.
  explicit GoNames(const ElfFile& file);

  // Empty if the address is in no function of Go.
  std::string_view name_of(uint64_t address) const;

 private:
  std::optional<GoFunctions> functions_;
};

}  // namespace memflame
