// SPDX-License-Identifier: BSD-2-Clause
// The heads of entries in .eh_frame and .debug_frame, and the pointers in them. Source: DWARF 5
// section 6.4, and the Linux Standard Base's additions for .eh_frame (augmentations, pointer
// encodings).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/byte_cursor.h"

namespace memflame {

struct FrameSection {
  std::span<const std::byte> bytes;
  uint64_t address = 0;  // virtual, of the first byte: pc-relative pointers count from it
  bool debug = false;    // .debug_frame
  // An entry of length zero ends the section, if its size is not known.
  bool ends_at_zero = false;
  std::optional<uint64_t> text = {}, data = {};  // the bases of text- and data-relative pointers
};

// A pointer in one of the encodings DW_EH_PE_*. Fails if it is indirect, or relative to an unknown
// base.
uint64_t read_pointer(ByteCursor& in, uint8_t encoding, const FrameSection& section);
// The encoded number alone; nothing is added to it.
uint64_t read_encoded(ByteCursor& in, uint8_t encoding);
// Skips a pointer, also an indirect one or one relative to an unknown base.
void skip_pointer(ByteCursor& in, uint8_t encoding, const FrameSection& section);

struct CieHead {
  uint64_t code_align = 1;
  int64_t data_align = 1;
  uint64_t return_register = 0;
  uint8_t encoding = 0;    // DW_EH_PE of the addresses in FDEs
  bool augmented = false;  // FDEs have augmentation data: 'z'
  bool signal = false;     // 'S'
  bool broken = false;     // only the place of its FDEs' code is known
};

// Reads from the version up to the initial instructions. False if that fails.
bool read_cie_head(ByteCursor& in, const FrameSection& section, CieHead& cie);

}  // namespace memflame
