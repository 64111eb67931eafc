// SPDX-License-Identifier: BSD-2-Clause
#include "probes/elf_functions.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace memflame {
namespace {

using unwind::ElfImage;
using unwind::ImageBytes;

// Link-time address -> file offset, by the segment that is mapped as code. UINT64_MAX for none.
uint64_t code_offset(const ElfImage& elf, uint64_t address) {
  for (const Elf64_Phdr& s : elf.segments())
    if (s.p_type == PT_LOAD && (s.p_flags & PF_X) != 0 && address >= s.p_vaddr &&
        address - s.p_vaddr < s.p_filesz)
      return address - s.p_vaddr + s.p_offset;
  return UINT64_MAX;
}

void read_table(const ImageBytes& symbols, const ElfImage& symbols_elf, const Elf64_Shdr& table,
                const ElfImage& elf, const WantedNames& wanted, std::vector<ElfFunction>& found) {
  if (table.sh_link >= symbols_elf.sections().size()) return;
  const Elf64_Shdr& strings = symbols_elf.sections()[table.sh_link];
  if (strings.sh_type != SHT_STRTAB) return;
  const unwind::Range entries = symbols.range(table.sh_offset, table.sh_size);
  const unwind::Range bytes = symbols.range(strings.sh_offset, strings.sh_size);
  const std::string_view texts(reinterpret_cast<const char*>(bytes.bytes.data()),
                               bytes.bytes.size());
  Elf64_Sym symbol;
  for (auto rest = entries.bytes; rest.size() >= sizeof(symbol);
       rest = rest.subspan(sizeof(symbol))) {
    std::memcpy(&symbol, rest.data(), sizeof(symbol));
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF ||
        symbol.st_name >= texts.size())
      continue;
    const size_t index = wanted.find(texts.substr(symbol.st_name));
    const uint64_t offset = index == WantedNames::none ? UINT64_MAX  //
                                                       : code_offset(elf, symbol.st_value);
    const bool known = std::any_of(found.begin(), found.end(), [&](const ElfFunction& f) {
      return f.wanted == index && f.offset == offset;
    });
    if (offset == UINT64_MAX || known) continue;
    found.push_back({.name = {},
                     .offset = offset,
                     .address = symbol.st_value,
                     .size = symbol.st_size,
                     .wanted = index});
  }
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
  for (const Elf64_Shdr& section : symbols_elf.sections())
    if (section.sh_type == SHT_DYNSYM || section.sh_type == SHT_SYMTAB)
      read_table(symbols, symbols_elf, section, elf, wanted, found);
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

ElfClass elf_class(int fd) {
  std::array<unsigned char, 20> head{};
  if (::pread(fd, head.data(), head.size(), 0) != static_cast<ssize_t>(head.size()) ||
      !std::equal(head.begin(), head.begin() + SELFMAG, ELFMAG))
    return ElfClass::none;
  const unsigned machine = head[18] | (unsigned{head[19]} << 8);
  return head[EI_CLASS] == ELFCLASS64 && machine == EM_X86_64 ? ElfClass::x86_64 : ElfClass::other;
}

}  // namespace memflame
