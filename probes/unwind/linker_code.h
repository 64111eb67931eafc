// SPDX-License-Identifier: BSD-2-Clause
// Code that no compiler wrote and that has no FDEs: .init and .fini, whose beginning and end come
// from the C library (crti.o, crtn.o), and the linkage tables of linkers that do not describe them
// (lld). It is recognised by its bytes: every byte that can be executed is checked, and one
// unexpected byte means no rows.
#pragma once

#include <cstdint>
#include <vector>

#include "core/elf/image.h"
#include "probes/unwind/row.h"

namespace memflame::unwind {

struct KnownCode {
  uint64_t start = 0, end = 0;  // virtual addresses
  std::vector<row> rows;        // row::pc counts from `start`; the first has 0
};

// Sorted by address, without overlaps. For files without section headers only .init and .fini.
std::vector<KnownCode> linker_code(const ImageBytes& image, const ElfImage& elf);

// The parts, for tests. `code`: from the first instruction on.

// .init or .fini, up to its `ret`; code.size() is larger if other code follows. Not recognised: no
// rows.
KnownCode list_of_calls(Bytes code, uint64_t address);
// The whole of a linkage table. Not recognised: no rows.
KnownCode linkage_table(Bytes code, uint64_t address);

}  // namespace memflame::unwind
