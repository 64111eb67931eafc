// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/finding/function_symbols.h"

#include "core/elf/symbols.h"

namespace memflame {
namespace {

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
  if (segment == nullptr || !is_code(*segment)) return "is not in the file's code";
  if (symbol.st_size == 0) return "has no size, so that its end is not known";
  if (ELF64_ST_TYPE(symbol.st_info) == STT_NOTYPE) return "is not marked as a function";
  return {};
}

}  // namespace

void for_each_function(int fd, const std::function<void(const FunctionSymbol&)>& visit) {
  const ImageBytes image(fd);
  const std::optional<ElfImage> elf = ElfImage::open(image);
  if (!elf) return;
  for_each_symbol(image, *elf, [&](const SymbolSection& table, const Elf64_Sym& symbol) {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if (type == STT_SECTION || type == STT_FILE) return;
    const std::string_view versioned = table.name(symbol);
    const std::string_view name = versioned.substr(0, versioned.find('@'));
    if (name.empty()) return;
    const Elf64_Phdr* segment = elf->loaded(symbol.st_value);
    const uint64_t offset =
        segment == nullptr ? 0 : symbol.st_value - segment->p_vaddr + segment->p_offset;
    if (offset >= image.size()) return;
    visit({name, symbol.st_value, offset, symbol.st_size, problem_of(symbol, segment)});
  });
}

std::optional<uint64_t> code_address(int fd, uint64_t offset) {
  const ImageBytes image(fd);
  const std::optional<ElfImage> elf = ElfImage::open(image);
  if (!elf) return std::nullopt;
  for (const Elf64_Phdr& segment : elf->segments())
    if (is_code(segment) && offset >= segment.p_offset &&
        offset - segment.p_offset < segment.p_filesz)
      return offset - segment.p_offset + segment.p_vaddr;
  return std::nullopt;
}

}  // namespace memflame
