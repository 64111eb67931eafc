// SPDX-License-Identifier: BSD-2-Clause
#include "core/elf/valgrind.h"

#include <algorithm>
#include <string_view>

namespace memflame {
namespace {

constexpr uint64_t piece = 1 << 20;

// The variable in which valgrind passes on where it was started from.
bool has_mark(const ImageBytes& image, const Elf64_Phdr& segment) {
  constexpr std::string_view mark = "VALGRIND_LAUNCHER";
  for (uint64_t at = 0; at < segment.p_filesz; at += piece) {
    const ImageRange range =
        image.range(segment.p_offset + at, std::min(piece + mark.size(), segment.p_filesz - at));
    const std::string_view text(reinterpret_cast<const char*>(range.bytes.data()),
                                range.bytes.size());
    if (text.find(mark) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

// Source: configure.ac of valgrind 3.13 to 3.25 (valt_load_address_pri_norml). Other static
// programs do not lie there, so they need not be read.
bool is_valgrind_tool(const ImageBytes& image, const ElfImage& elf) {
  constexpr uint64_t base = 0x58000000, old_base = 0x38000000;
  bool is_there = false;
  for (const Elf64_Phdr& segment : elf.segments()) {
    if (segment.p_type == PT_INTERP) return false;
    if (segment.p_type == PT_LOAD)
      is_there |= segment.p_vaddr == base || segment.p_vaddr == old_base;
  }
  return is_there && std::ranges::any_of(elf.segments(), [&](const Elf64_Phdr& segment) {
           return segment.p_type == PT_LOAD && has_mark(image, segment);
         });
}

bool is_valgrind_tool(int fd) {
  const ImageBytes image(fd);
  const std::optional<ElfImage> elf = ElfImage::open(image);
  return elf && is_valgrind_tool(image, *elf);
}

}  // namespace memflame
