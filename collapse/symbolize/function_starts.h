// SPDX-License-Identifier: BSD-2-Clause
// Where functions begin in a file without symbols, by its unwind tables.
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
  // Finds nothing if the file has no index of its unwind tables (.eh_frame_hdr), or one in a form
  // that no linker writes. The file's contents may be wrong in any way. The file must stay open.
  explicit FunctionStarts(const ElfFile& file);

  // The start of the function that holds `address`.
  std::optional<uint64_t> start_of(uint64_t address) const;

  // A program's header gives its start (_start), and the code there hands main to the C library.
  // Empty for all other functions, and for libraries.
  std::string_view name_of(uint64_t start) const;

 private:
  struct Entry {
    int32_t start = 0;  // relative to the index
    int32_t fde = 0;
  };
  struct Mapped {  // a part of the file, at the linker's address
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
