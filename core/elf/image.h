// SPDX-License-Identifier: BSD-2-Clause
// Reads ELF files of watched programs: only the ranges that are needed, each of them checked.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace memflame {

using Bytes = std::span<const std::byte>;

// A range of an image. Bytes read from a file are held here, bytes in memory are not.
struct ImageRange {
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
  ImageRange range(uint64_t offset, uint64_t size) const;

 private:
  Bytes memory_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

// The headers of an ELF file. Those of 32-bit files are widened.
class ElfImage {
 public:
  // x86-64 programs and libraries only.
  static std::optional<ElfImage> open(const ImageBytes& image);
  // Files of any machine and type, little-endian.
  static std::optional<ElfImage> open_any(const ImageBytes& image);

  uint64_t entry() const { return header_.e_entry; }      // old linkers set it in libraries too
  unsigned type() const { return header_.e_type; }        // ET_…
  unsigned machine() const { return header_.e_machine; }  // EM_…
  bool is_wide() const { return header_.e_ident[EI_CLASS] == ELFCLASS64; }
  const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  // nullptr if there is no section of this name with bytes in the file.
  const Elf64_Shdr* section(std::string_view name) const;
  // The PT_LOAD segment that holds the address in its file bytes; nullptr if there is none.
  const Elf64_Phdr* loaded(uint64_t address) const;

 private:
  template <class Ehdr, class Phdr, class Shdr>
  bool read(const ImageBytes& image);
  bool is_x86_64_code() const;

  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Shdr> sections_;
  ImageRange names_;
};

inline bool is_code(const Elf64_Phdr& segment) {
  return segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0;
}
// The distance of the last segment with code: address = offset in the file + this. 0 if there is
// none.
inline uint64_t code_delta(const ElfImage& elf) {
  uint64_t delta = 0;
  for (const Elf64_Phdr& segment : elf.segments())
    if (is_code(segment)) delta = segment.p_vaddr - segment.p_offset;
  return delta;
}

enum class ElfClass : uint8_t { none, x86_64, other };
ElfClass elf_class(int fd);

// Calls `visit` with a copy of each T that the bytes hold, which need not be aligned.
template <class T, class Visit>
void for_each_in(Bytes bytes, Visit visit) {
  for (T value; bytes.size() >= sizeof(T); bytes = bytes.subspan(sizeof(T))) {
    std::memcpy(&value, bytes.data(), sizeof(T));
    visit(value);
  }
}

// The value of the first entry with this tag (DT_…) in PT_DYNAMIC.
std::optional<uint64_t> dynamic_entry(const ImageBytes& image, const ElfImage& elf, int64_t tag);

// The bytes of the file that are loaded at `address`, at most `size`.
ImageRange loaded_at(const ImageBytes& image, const ElfImage& elf, uint64_t address, uint64_t size);

// The same, if they are code.
ImageRange code_at(const ImageBytes& image, const ElfImage& elf, uint64_t address, uint64_t size);

// The bytes of a section as they are in the file, and inflated if they are compressed
// (SHF_COMPRESSED).
ImageRange raw_section_bytes(const ImageBytes& image, const Elf64_Shdr& section);
ImageRange section_bytes(const ImageBytes& image, const Elf64_Shdr& section);

}  // namespace memflame
