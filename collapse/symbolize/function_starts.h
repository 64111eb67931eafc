// SPDX-License-Identifier: BSD-2-Clause
// Where functions begin in a file without symbols, by its unwind tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collapse/symbolize/elf_file.h"
#include "core/elf/frame_entry.h"

namespace memflame {

// Addresses are those of the file (see ElfFile). Source: the Linux Standard Base, .eh_frame_hdr and
// .eh_frame.
class FunctionStarts {
 public:
  // Finds nothing if the file has no index of its unwind tables (.eh_frame_hdr), or one in a form
  // that no linker writes. The file's contents may be wrong in any way. The file must stay open.
  explicit FunctionStarts(const ElfFile& file);

  // The start of the function that holds `address`.
  std::optional<uint64_t> start_of(uint64_t address);

  // Names two functions of a program: its header has the address of _start, and the code there
  // passes main to the C library. Empty for all other functions, and for libraries.
  std::string_view name_of(uint64_t start) const;

 private:
  struct Entry {
    int32_t start = 0;  // relative to the index
    int32_t fde = 0;
  };
  ImageRange read(uint64_t address, uint64_t size) const;
  Bytes read_near(uint64_t address, uint64_t size);
  const std::optional<CieHead>& cie_at(uint64_t address);
  struct Extent {
    uint64_t size = 0;
    bool signal_frame = false;
  };
  std::optional<Extent> extent_of(uint64_t fde);
  void read_index(const Elf64_Phdr& segment);
  void find_program_start();

  const ElfFile& file_;
  uint64_t index_ = 0;  // address of .eh_frame_hdr
  std::vector<Entry> entries_;
  ImageRange near_;  // the part of the entries that was read last
  uint64_t near_start_ = 0;
  std::unordered_map<uint64_t, std::optional<CieHead>> cies_;  // by address
  uint64_t entry_point_ = 0, main_ = 0;                        // 0: not a program, or not known
};

}  // namespace memflame
