// SPDX-License-Identifier: BSD-2-Clause
// Where functions begin, in a file without symbols: its unwind tables know.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "collapse/symbolize/elf_file.h"

namespace memflame {

// Addresses are those of the file (see ElfFile). Source: the Linux Standard Base, .eh_frame_hdr and
// .eh_frame.
class FunctionStarts {
 public:
  // Knows nothing where the file has no index of its unwind tables (.eh_frame_hdr), or one of a
  // form that no linker writes. What is in the file may be wrong in any way. The file has to
  // stay open.
  explicit FunctionStarts(const ElfFile& file);

  // Where the function that `address` is in begins.
  std::optional<uint64_t> start_of(uint64_t address) const;

  // A program says itself where it starts (_start), and hands main to the C library there. Empty
  // for all other functions, and for libraries.
  std::string_view name_of(uint64_t start) const;

 private:
  struct Entry {
    int32_t start = 0;  // from the index on
    int32_t fde = 0;
  };
  struct Mapped {  // a part of the file, where the linker put it
    uint64_t address = 0;
    std::span<const std::byte> bytes;
  };
  void map_segments(Elf* elf);
  std::span<const std::byte> read(uint64_t address, uint64_t size) const;
  struct Extent {
    uint64_t size = 0;
    bool signal_frame = false;
  };
  std::optional<Extent> extent_of(uint64_t fde) const;
  void find_program_start(Elf* elf);

  std::vector<Mapped> mapped_;
  uint64_t index_ = 0;  // address of .eh_frame_hdr
  std::vector<Entry> entries_;
  uint64_t entry_point_ = 0, main_ = 0;  // 0: not a program, or not known
};

}  // namespace memflame
