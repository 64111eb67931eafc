// SPDX-License-Identifier: BSD-2-Clause
// Rows from Go's own table of functions (core/elf/go_table.h). They are used for all Go code of
// programs without .debug_frame, and in every Go program for the functions where stacks begin.
#pragma once

#include <vector>

#include "core/elf/image.h"
#include "probes/unwind/linker_code.h"

namespace memflame::unwind {

struct GoRows {
  std::vector<KnownCode> functions;  // all of Go's, sorted by address, without overlaps
  // Functions where a stack begins, or that leave the goroutine's stack for another one.
  // .debug_frame describes these wrongly.
  std::vector<KnownCode> special;
};

// Empty for files without Go code or without section headers.
GoRows go_rows(const ImageBytes& image, const ElfImage& elf);

}  // namespace memflame::unwind
