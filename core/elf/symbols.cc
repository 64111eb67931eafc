// SPDX-License-Identifier: BSD-2-Clause
#include "core/elf/symbols.h"

namespace memflame {

SymbolSection::SymbolSection(const ImageBytes& image, const ElfImage& elf,
                             const Elf64_Shdr& section) {
  const bool is_table = section.sh_type == SHT_DYNSYM || section.sh_type == SHT_SYMTAB;
  if (!is_table || section.sh_link >= elf.sections().size()) return;
  const Elf64_Shdr& names = elf.sections()[section.sh_link];
  if (names.sh_type != SHT_STRTAB) return;
  symbols_ = raw_section_bytes(image, section);
  names_ = raw_section_bytes(image, names);
}

Elf64_Sym SymbolSection::symbol(size_t index) const {
  Elf64_Sym symbol;
  std::memcpy(&symbol, symbols_.bytes.data() + index * sizeof(symbol), sizeof(symbol));
  return symbol;
}

std::string_view SymbolSection::names_from(const Elf64_Sym& symbol) const {
  if (symbol.st_name >= names_.bytes.size()) return {};
  return {reinterpret_cast<const char*>(names_.bytes.data()) + symbol.st_name,
          names_.bytes.size() - symbol.st_name};
}

std::string_view SymbolSection::name(const Elf64_Sym& symbol) const {
  constexpr size_t longest = 4096;
  const std::string_view rest = names_from(symbol).substr(0, longest);
  const size_t end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
}

}  // namespace memflame
