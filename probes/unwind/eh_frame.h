// SPDX-License-Identifier: BSD-2-Clause
// Reads .eh_frame and .debug_frame: entries, and the rows that their programs make.
//
// The format is DWARF 5 section 6.4 plus the Linux Standard Base's additions for .eh_frame
// (augmentations, pointer encodings). Time and memory are proportional to the number of bytes,
// whatever they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/elf/frame_entry.h"
#include "probes/unwind/row.h"

namespace memflame::unwind {

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

struct Cie : CieHead {
  FrameState initial;    // after the program with which all of its FDEs begin
  uint32_t section = 0;  // index in Frames::sections
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
