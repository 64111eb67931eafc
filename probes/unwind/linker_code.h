// SPDX-License-Identifier: BSD-2-Clause
// Code that no compiler wrote and that files say nothing about: .init and .fini, which C libraries
// begin and end (crti.o, crtn.o) and which no distribution describes, and linkage tables of linkers
// that describe none (lld). It is known by its bytes: all that can be executed are looked at, and
// where one is not as expected nothing is said.
#pragma once

#include <cstdint>
#include <vector>

#include "probes/unwind/elf_image.h"
#include "probes/unwind/row.h"

namespace memflame::unwind {

struct KnownCode {
  uint64_t start = 0, end = 0;  // virtual addresses
  std::vector<row> rows;        // row::pc counts from `start`; the first has 0
};

// Sorted by address, without overlaps. For files without section headers only .init and .fini.
std::vector<KnownCode> linker_code(const ImageBytes& image, const ElfImage& elf);

// The parts, for tests. `code`: from the first instruction on.

// .init or .fini, to its `ret`; code.size() is more when other code follows. Not known: no rows.
KnownCode list_of_calls(Bytes code, uint64_t address);
// The whole of a linkage table. Not known: no rows.
KnownCode linkage_table(Bytes code, uint64_t address);

}  // namespace memflame::unwind
