// SPDX-License-Identifier: BSD-2-Clause
// Reads .eh_frame and .debug_frame: entries, and the rows that their programs make.
//
// The format is DWARF 5 section 6.4 plus the Linux Standard Base's additions for .eh_frame
// (augmentations, pointer encodings). Whatever the bytes are, time and memory are proportional to
// their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "probes/unwind/row.h"

namespace memflame::unwind {

struct FrameSection {
  std::span<const std::byte> bytes;
  uint64_t address = 0;  // virtual, of the first byte: pc-relative pointers count from it
  bool debug = false;    // .debug_frame
  // An entry of length zero ends the section, if its size is not known.
  bool ends_at_zero = false;
  std::optional<uint64_t> text = {}, data = {};  // the bases of text- and data-relative pointers
};

// What a register's value, or the CFA, is computed from.
struct Rule {
  enum How : uint8_t { unset, same, undefined, offset, expression, other };
  How how = unset;
  int64_t distance = 0;             // offset: saved at CFA + distance
  std::span<const std::byte> code;  // expression: saved at the address that this computes
};

struct FrameState {
  bool cfa_is_expression = false;
  uint64_t cfa_register = UINT64_MAX;
  int64_t cfa_offset = 0;
  std::span<const std::byte> cfa_code;
  Rule rbp, rbx, return_address;
};

struct Cie {
  FrameState initial;  // after the program with which all of its FDEs begin
  uint64_t code_align = 1;
  int64_t data_align = 1;
  uint64_t return_register = 0;
  uint8_t encoding = 0;    // DW_EH_PE of the addresses in FDEs
  bool augmented = false;  // FDEs have augmentation data: 'z'
  bool signal = false;     // 'S'
  bool broken = false;     // only the place of its FDEs' code is known
  uint32_t section = 0;    // index in Frames::sections
};

struct Fde {
  uint64_t start = 0, size = 0;  // of the code, bytes
  std::span<const std::byte> program;
  uint32_t cie = 0;     // index in Frames::cies
  bool broken = false;  // only the place of its code is known
};

struct Frames {
  std::vector<FrameSection> sections;
  std::vector<Cie> cies;
  std::vector<Fde> fdes;
  uint32_t malformed = 0;  // entries left out, and broken CIEs
};

// Adds the entries of a section, whose bytes must outlive the frames.
void read_frames(const FrameSection& section, Frames& frames);

// The rows of an entry, from its first instruction (row::pc 0) on, sorted by pc. False if the
// program cannot be understood or the entry is broken; the rows are then invalid. At most 4 GiB of
// code.
bool fde_rows(const Frames& frames, const Fde& fde, std::vector<row>& rows);

}  // namespace memflame::unwind
