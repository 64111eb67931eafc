// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/finding/function_symbols.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "probes/unwind/elf_image.h"

namespace memflame {
namespace {

using unwind::Bytes;
using unwind::ElfImage;
using unwind::ImageBytes;
using unwind::Range;

// A name of many kilobytes is none that anybody declares.
constexpr size_t max_name = 4096;

std::string_view name_at(Bytes names, uint32_t offset) {
  if (offset >= names.size()) return {};
  const char* text = reinterpret_cast<const char*>(names.data()) + offset;
  const size_t room = std::min(names.size() - offset, max_name);
  const void* end = std::memchr(text, 0, room);
  if (end == nullptr) return {};
  const std::string_view name(text, static_cast<size_t>(static_cast<const char*>(end) - text));
  return name.substr(0, name.find('@'));
}

bool executable(const Elf64_Phdr& segment) {
  return segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0;
}

std::string_view problem_of(const Elf64_Sym& symbol, const Elf64_Phdr* segment) {
  switch (ELF64_ST_TYPE(symbol.st_info)) {
    case STT_GNU_IFUNC:
      return "is chosen among several functions when the program starts";
    case STT_OBJECT:
    case STT_COMMON:
    case STT_TLS:
      return "is data, not a function";
    case STT_FUNC:
    case STT_NOTYPE:
      break;
    default:
      return "is not a function";
  }
  if (segment == nullptr || !executable(*segment)) return "is not in the file's code";
  if (symbol.st_size == 0) return "has no size, so that its end is not known";
  if (ELF64_ST_TYPE(symbol.st_info) == STT_NOTYPE) return "is not marked as a function";
  return {};
}

void read_table(const ImageBytes& image, const ElfImage& elf, const char* table,
                const char* strings, const std::function<void(const FunctionSymbol&)>& visit) {
  const Elf64_Shdr* symbol_section = elf.section(table);
  const Elf64_Shdr* name_section = elf.section(strings);
  if (symbol_section == nullptr || name_section == nullptr) return;
  const Range symbols = image.range(symbol_section->sh_offset, symbol_section->sh_size);
  const Range names = image.range(name_section->sh_offset, name_section->sh_size);
  for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.bytes.size(); at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    std::memcpy(&symbol, symbols.bytes.data() + at, sizeof(symbol));
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if (symbol.st_shndx == SHN_UNDEF || type == STT_SECTION || type == STT_FILE) continue;
    const std::string_view name = name_at(names.bytes, symbol.st_name);
    if (name.empty()) continue;
    const Elf64_Phdr* segment = elf.loaded(symbol.st_value);
    const uint64_t offset =
        segment == nullptr ? 0 : symbol.st_value - segment->p_vaddr + segment->p_offset;
    if (offset >= image.size()) continue;
    visit({name, symbol.st_value, offset, symbol.st_size, problem_of(symbol, segment)});
  }
}

}  // namespace

void for_each_function(int fd, const std::function<void(const FunctionSymbol&)>& visit) {
  const ImageBytes image(fd);
  const std::optional<ElfImage> elf = ElfImage::open(image);
  if (!elf) return;
  read_table(image, *elf, ".dynsym", ".dynstr", visit);
  read_table(image, *elf, ".symtab", ".strtab", visit);
}

std::optional<uint64_t> code_address(int fd, uint64_t offset) {
  const ImageBytes image(fd);
  const std::optional<ElfImage> elf = ElfImage::open(image);
  if (!elf) return std::nullopt;
  for (const Elf64_Phdr& segment : elf->segments())
    if (executable(segment) && offset >= segment.p_offset &&
        offset - segment.p_offset < segment.p_filesz)
      return offset - segment.p_offset + segment.p_vaddr;
  return std::nullopt;
}

}  // namespace memflame
