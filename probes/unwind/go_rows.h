// SPDX-License-Identifier: BSD-2-Clause
// Code that Go's own table describes: all of a Go program's without .debug_frame, and the functions
// where stacks begin.
#pragma once

#include <vector>

#include "core/elf/image.h"
#include "probes/unwind/linker_code.h"

namespace memflame::unwind {

struct GoRows {
  std::vector<KnownCode> functions;  // all of Go's, sorted by address, without overlaps
  // Functions where a stack begins, or where the goroutine's stack is left for another one. What
  // .debug_frame says of these is wrong.
  std::vector<KnownCode> special;
};

// Nothing for files without Go code, and for those without section headers.
GoRows go_rows(const ImageBytes& image, const ElfImage& elf);

}  // namespace memflame::unwind
