// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/go_names.h"

#include <gelf.h>

#include <algorithm>
#include <cstring>

namespace memflame {
namespace {

std::span<const std::byte> bytes_of(const Elf_Data* data) {
  if (data == nullptr || data->d_buf == nullptr) return {};
  return {static_cast<const std::byte*>(data->d_buf), data->d_size};
}

// The bytes at an address of the file, as many of them as there are.
bool read_code(Elf* elf, uint64_t address, std::span<std::byte> to) {
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return false;
  GElf_Phdr segment;
  for (size_t i = 0; i < count; ++i) {
    if (gelf_getphdr(elf, static_cast<int>(i), &segment) == nullptr) return false;
    const uint64_t into = address - segment.p_vaddr;
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr || into >= segment.p_filesz ||
        to.size() > segment.p_filesz - into)
      continue;
    const std::span<const std::byte> found = bytes_of(elf_getdata_rawchunk(
        elf, static_cast<int64_t>(segment.p_offset + into), to.size(), ELF_T_BYTE));
    if (found.size() != to.size()) return false;
    std::ranges::copy(found, to.begin());
    return true;
  }
  return false;
}

}  // namespace

GoNames::GoNames(const ElfFile& file) {
  Elf* elf = file.elf();
  size_t names = 0;
  if (elf == nullptr || elf_getshdrstrndx(elf, &names) != 0) return;
  std::span<const std::byte> table;
  uint64_t text = 0;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type == SHT_NOBITS) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    if (name == nullptr) continue;
    if (std::string_view(name) == ".text") text = header.sh_addr;
    if (std::ranges::any_of(go_sections,
                            [&](const char* known) { return !std::strcmp(name, known); }))
      table = bytes_of(elf_rawdata(section, nullptr));
  }
  if (table.empty()) return;
  functions_.emplace(table, text, [&](uint64_t address, std::span<std::byte> to) {
    return read_code(elf, address, to);
  });
}

std::string_view GoNames::name_of(uint64_t address) const {
  const GoFunctions::Function* function = functions_ ? functions_->find(address) : nullptr;
  return function == nullptr ? std::string_view{} : functions_->name(*function);
}

}  // namespace memflame
