// SPDX-License-Identifier: BSD-2-Clause
// A function recognised by its bytes: the effect of each instruction on the stack is known, and
// each path through it leads to an end.
#pragma once

#include <optional>
#include <vector>

#include "core/elf/image.h"
#include "probes/unwind/row.h"

namespace memflame::unwind {

struct KnownFunction {
  size_t size = 0;        // bytes, without padding behind
  std::vector<row> rows;  // row::pc counts from its first byte; the first has 0
  bool has_flag = false;  // it has cmpb $0,x(%rip) and then movb $1,x(%rip), of the same x
};

// The function at the first byte, of at most 256 bytes; other code may follow. Jumps may leave it
// only at its ends. std::nullopt if it is not recognised.
std::optional<KnownFunction> known_function(Bytes code);

}  // namespace memflame::unwind
