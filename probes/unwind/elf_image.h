// SPDX-License-Identifier: BSD-2-Clause
// Reads ELF files of the target: only the ranges that are needed, each of them checked.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "probes/unwind/table.h"

namespace memflame::unwind {

using Bytes = std::span<const std::byte>;

// A range of an image. Bytes read from a file are held here, bytes in memory are not.
struct Range {
  Bytes bytes;  // empty if the image does not hold the whole range
  std::unique_ptr<std::byte[]> held;
};

// The bytes of an image: in memory, or in a file. A file is read with pread, not mapped: its owner
// may truncate it at any time, which then makes a range empty and raises no signal.
class ImageBytes {
 public:
  explicit ImageBytes(Bytes memory) : memory_(memory), size_(memory.size()) {}
  explicit ImageBytes(int fd);  // not owned; empty unless it is a regular file

  uint64_t size() const { return size_; }
  Range range(uint64_t offset, uint64_t size) const;

 private:
  Bytes memory_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

// The headers of an x86-64 executable or shared object.
class ElfImage {
 public:
  static std::optional<ElfImage> open(const ImageBytes& image);

  uint64_t entry() const { return entry_; }  // e_entry, which old linkers set in libraries too
  const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  // nullptr if there is no section of this name with bytes in the file.
  const Elf64_Shdr* section(std::string_view name) const;
  // The PT_LOAD segment that holds the address in its file bytes; nullptr if there is none.
  const Elf64_Phdr* loaded(uint64_t address) const;

 private:
  uint64_t entry_ = 0;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Shdr> sections_;
  Range names_;
};

// The value of the first entry with this tag (DT_…) in PT_DYNAMIC.
std::optional<uint64_t> dynamic_entry(const ImageBytes& image, const ElfImage& elf, int64_t tag);

// The bytes mapped as code at `address`, at most `size`.
Range code_at(const ImageBytes& image, const ElfImage& elf, uint64_t address, uint64_t size);

// The bytes of a section, inflated if they are compressed (SHF_COMPRESSED).
Range section_bytes(const ImageBytes& image, const Elf64_Shdr& section);

// The build id (NT_GNU_BUILD_ID), at most 64 bytes; empty if there is none.
std::vector<std::byte> build_id(const ImageBytes& image);

// make_table of table.h, for a file that is read in pieces.
Table make_table(const ImageBytes& image);

}  // namespace memflame::unwind
