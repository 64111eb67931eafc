// SPDX-License-Identifier: BSD-2-Clause
// Unwind tables: how to find callers in the code of one file, as rows sorted by address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/elf/image.h"
#include "probes/unwind/row.h"

namespace memflame::unwind {

// Whether rows of this kind say where rbx was saved.
constexpr bool may_save_rbx(unsigned kind) {
  return kind == row_rsp || kind == row_rbp || kind == row_deref_rsp || kind == row_deref_rbp ||
         kind == row_rbx;
}
// Whether there are rows of this kind, a value of row::kind.
constexpr bool is_kind(row_u8 value) {
  const unsigned kind = value & row_kind_mask;
  return kind > row_none && kind <= row_padding && (kind == value || may_save_rbx(kind));
}

// An executable PT_LOAD segment: file bytes [offset, offset + size) are mapped at virtual address
// `vaddr` plus the load bias.
struct Segment {
  uint64_t offset = 0, size = 0, vaddr = 0;
};

struct Table {
  // Virtual address that row::pc counts from: the lowest executable one. Executable addresses reach
  // at most 4 GiB beyond it; code that lies higher has no rows.
  uint64_t base = 0;
  // Sorted by pc. No two have the same pc, and no row equals the one before it. The first has pc 0,
  // so every executable address is covered: by row_fp where neither unwind information nor the
  // bytes tell anything, by row_bad where a gap is too small for a function.
  std::vector<row> rows;
  std::vector<Segment> segments;
  uint32_t entries = 0;  // FDEs read
  // CIEs and FDEs that could not be read; row_bad covers the code where that could be told. One
  // more when there was too much code to follow (followed_code.h).
  uint32_t malformed = 0;
};

// The table of an ELF image (a mapped file, or the vdso). Never throws because of the image's
// contents. The table of a file that is not an x86-64 ELF has neither segments nor rows; a file
// without unwind information gets a single row_fp, unless its bytes are recognised.
Table make_table(const ImageBytes& image);
Table make_table(Bytes image);

// Where a mapping of file offset `offset` at address `start` puts the table's base; false when the
// offset lies in none of the segments.
bool base_address(const Table& table, uint64_t start, uint64_t offset, uint64_t& address);

}  // namespace memflame::unwind
