// SPDX-License-Identifier: BSD-2-Clause
// The functions of a Go program, from its file.
#pragma once

#include <optional>

#include "core/elf/image.h"
#include "core/go_functions.h"

namespace memflame {

struct GoTable {
  ImageRange bytes;                      // which the functions refer to
  std::optional<GoFunctions> functions;  // nothing in files without .gopclntab
};

GoTable go_table(const ImageBytes& image, const ElfImage& elf);

// What the file has at an address. Both arguments must outlive the result.
GoFunctions::ReadCode go_bytes(const ImageBytes& image, const ElfImage& elf);

// Where the trees of inlined functions are (see GoLines); 0: unknown. By its symbol, or in a
// stripped file from the runtime's description of the program.
uint64_t go_inlined(const ImageBytes& image, const ElfImage& elf);

}  // namespace memflame
