// SPDX-License-Identifier: BSD-2-Clause
// Detects functions that the compiler has inlined into their callers, where no probe sees them.
//
// The idea: some functions call through a pointer in the file's data, like CPython's allocators of
// each domain (Objects/obmalloc.c). An inlined copy loads the same pointer, so such loads elsewhere
// show the copies. The cost is one pass over the bytes of the file's code.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/elf/image.h"
#include "probes/alloc/finding/file_code.h"

namespace memflame {

struct FunctionExtent {
  uint64_t address = 0, size = 0;
};

// For each function, in the order of `functions`: how many other places of the file load the
// pointer that it calls through. Places inside of `functions` do not count. 0 for a function
// without such a pointer.
std::vector<size_t> count_copies(FileCode& code, const ImageBytes& image, const ElfImage& elf,
                                 std::span<const FunctionExtent> functions);

}  // namespace memflame
