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

}  // namespace memflame
