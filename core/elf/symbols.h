// SPDX-License-Identifier: BSD-2-Clause
// The symbol tables of an ELF file.
#pragma once

#include "core/elf/image.h"

namespace memflame {

// The bytes of .dynsym or .symtab, and of the names in it.
class SymbolSection {
 public:
  // Empty if the section is not a symbol table, or what it points to is missing.
  SymbolSection(const ImageBytes& image, const ElfImage& elf, const Elf64_Shdr& section);

  size_t size() const { return symbols_.bytes.size() / sizeof(Elf64_Sym); }
  Elf64_Sym symbol(size_t index) const;  // index < size()
  // The bytes from where its name begins, up to the end of all names; empty if there is none.
  std::string_view names_from(const Elf64_Sym& symbol) const;
  // Its name, which may have a version ("malloc@@GLIBC_2.2.5"); empty if it has no end within 4096
  // bytes.
  std::string_view name(const Elf64_Sym& symbol) const;

 private:
  ImageRange symbols_, names_;
};

// An ordinary file has two symbol tables and two tables of relocations. A hostile one may have
// thousands, all in the same bytes.
constexpr int max_tables = 8;

// Calls visit(table, symbol) with all defined symbols of .dynsym and .symtab.
template <class Visit>
void for_each_symbol(const ImageBytes& image, const ElfImage& elf, Visit visit) {
  int tables = 0;
  for (const Elf64_Shdr& section : elf.sections()) {
    if (section.sh_type != SHT_DYNSYM && section.sh_type != SHT_SYMTAB) continue;
    if (++tables > max_tables) return;
    const SymbolSection table(image, elf, section);
    for (size_t i = 0; i < table.size(); ++i)
      if (const Elf64_Sym symbol = table.symbol(i); symbol.st_shndx != SHN_UNDEF)
        visit(table, symbol);
  }
}

// Calls visit(symbols, relocation) for each relocation that the dynamic linker makes and a section
// header describes. `symbols` is the table that a relocation's index counts in; empty if it needs
// none.
template <class Visit>
void for_each_relocation(const ImageBytes& image, const ElfImage& elf, Visit visit) {
  int tables = 0;
  for (const Elf64_Shdr& section : elf.sections()) {
    if (section.sh_type != SHT_RELA || (section.sh_flags & SHF_ALLOC) == 0 ||
        section.sh_link >= elf.sections().size())
      continue;
    if (++tables > max_tables) return;
    const Elf64_Shdr& linked = elf.sections()[section.sh_link];
    const SymbolSection symbols(image, elf, linked.sh_type == SHT_DYNSYM ? linked : Elf64_Shdr{});
    const ImageRange entries = raw_section_bytes(image, section);
    for_each_in<Elf64_Rela>(entries.bytes, [&](const Elf64_Rela& each) { visit(symbols, each); });
  }
}

// Whether the relocation fills a slot with the address of a function or of data by its name.
inline bool fills_slot(const Elf64_Rela& relocation) {
  const uint64_t type = ELF64_R_TYPE(relocation.r_info);
  return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
}

}  // namespace memflame
