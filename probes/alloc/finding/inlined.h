// SPDX-License-Identifier: BSD-2-Clause
// Detects functions that the compiler has copied into their callers, where no probe sees them.
//
// This is possible for functions that call through a pointer in the file's data, like the domains
// of CPython's allocators (Objects/obmalloc.c): each copy loads that pointer too.
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

// How many other places of the file load the pointers that each function calls through, in the
// order of `functions`; places inside one of them do not count. 0 for functions without such
// pointers.
std::vector<size_t> count_copies(FileCode& code, const ImageBytes& image, const ElfImage& elf,
                                 std::span<const FunctionExtent> functions);

}  // namespace memflame
