// SPDX-License-Identifier: BSD-2-Clause
// Memory that holds only copies of one small function. CPython makes such memory for `python -X
// perf` (Objects/asm_trampoline.S, Python/perf_trampoline.c of 3.12 to 3.14): each Python function
// is called through a copy of its own, whose frame nothing describes.
#pragma once

#include <vector>

#include "core/elf/image.h"
#include "probes/unwind/row.h"

namespace memflame::unwind {

// CPython allocates this much at once, and fills it with copies from the first byte on,
// consecutively or at multiples of 16.
inline constexpr uint64_t copies_bytes = 64 << 10;

// Whether memory that begins like this may be such memory. Nearly all memory of JIT compilers is
// not, so the rest of it need not be read.
bool may_be_copies(Bytes first);

// The rows of such memory; row::pc counts from its first byte. Empty unless all of it is copies of
// one function whose every instruction is known, followed by zeros.
std::vector<row> rows_of_copies(Bytes memory);

}  // namespace memflame::unwind
