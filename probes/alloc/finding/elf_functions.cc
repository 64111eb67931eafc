// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/finding/elf_functions.h"

#include <algorithm>

#include "core/elf/symbols.h"

namespace memflame {
namespace {

// The file offset of a link-time address; UINT64_MAX if no segment maps it as code.
uint64_t code_offset(const ElfImage& elf, uint64_t address) {
  for (const Elf64_Phdr& s : elf.segments())
    if (is_code(s) && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz)
      return address - s.p_vaddr + s.p_offset;
  return UINT64_MAX;
}

}  // namespace

WantedNames::WantedNames(const std::vector<std::string_view>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    beginnings_.set(beginning(names[i]));
    indices_.emplace(names[i], i);
    longest_ = std::max(longest_, names[i].size());
  }
}

size_t WantedNames::beginning(std::string_view text) {
  size_t hash = 0;
  for (size_t i = 0; i < 3; ++i) {
    if (i >= text.size() || text[i] == '@' || text[i] == '\0') break;
    hash = hash * 32 + (static_cast<unsigned char>(text[i]) & 31U);
  }
  return hash & 0x7fff;
}

size_t WantedNames::find(std::string_view rest) const {
  if (!beginnings_.test(beginning(rest))) return none;
  const size_t end = rest.substr(0, longest_ + 1).find_first_of(std::string_view("@\0", 2));
  if (end == std::string_view::npos || end == 0) return none;
  const auto found = indices_.find(rest.substr(0, end));
  return found == indices_.end() ? none : found->second;
}

std::vector<ElfFunction> functions_in(const ImageBytes& symbols, const ElfImage& symbols_elf,
                                      const ElfImage& elf, const WantedNames& wanted) {
  std::vector<ElfFunction> found;
  for_each_symbol(symbols, symbols_elf, [&](const SymbolSection& table, const Elf64_Sym& symbol) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) return;
    const size_t index = wanted.find(table.names_from(symbol));
    const uint64_t offset = index == WantedNames::none ? UINT64_MAX  //
                                                       : code_offset(elf, symbol.st_value);
    const bool known = std::any_of(found.begin(), found.end(), [&](const ElfFunction& f) {
      return f.wanted == index && f.offset == offset;
    });
    if (offset == UINT64_MAX || known) return;
    found.push_back({.name = {},
                     .offset = offset,
                     .address = symbol.st_value,
                     .size = symbol.st_size,
                     .wanted = index});
  });
  return found;
}

std::vector<ElfFunction> find_functions(int fd, const std::vector<std::string_view>& wanted) {
  const ImageBytes image(fd);
  const std::optional<ElfImage> elf = ElfImage::open(image);
  if (!elf) return {};
  std::vector<ElfFunction> found = functions_in(image, *elf, *elf, WantedNames(wanted));
  for (ElfFunction& function : found) function.name = wanted[function.wanted];
  return found;
}

}  // namespace memflame
