// SPDX-License-Identifier: BSD-2-Clause
// The symbol tables of an ELF file.
#pragma once

#include "core/elf/image.h"

namespace memflame {

// The bytes of .dynsym or .symtab, and of the names in it.
class SymbolSection {
 public:
  // Empty if the section is no symbol table, or what it points to is missing.
  SymbolSection(const ImageBytes& image, const ElfImage& elf, const Elf64_Shdr& section);

  size_t size() const { return symbols_.bytes.size() / sizeof(Elf64_Sym); }
  Elf64_Sym symbol(size_t index) const;  // index < size()
  // The bytes from where its name begins, up to the end of all names; empty if there is none.
  std::string_view names_from(const Elf64_Sym& symbol) const;
  // Its name, which may have a version ("malloc@@GLIBC_2.2.5"); empty if the end is missing.
  std::string_view name(const Elf64_Sym& symbol) const;

 private:
  ImageRange symbols_, names_;
};

// Calls visit(table, symbol) with all defined symbols of .dynsym and .symtab.
template <class Visit>
void for_each_symbol(const ImageBytes& image, const ElfImage& elf, Visit visit) {
  for (const Elf64_Shdr& section : elf.sections()) {
    if (section.sh_type != SHT_DYNSYM && section.sh_type != SHT_SYMTAB) continue;
    const SymbolSection table(image, elf, section);
    for (size_t i = 0; i < table.size(); ++i)
      if (const Elf64_Sym symbol = table.symbol(i); symbol.st_shndx != SHN_UNDEF)
        visit(table, symbol);
  }
}

}  // namespace memflame
