// SPDX-License-Identifier: BSD-2-Clause
// ELF files made by tests.
#pragma once

#include <elf.h>

#include <cstring>
#include <string>
#include <string_view>

namespace memflame {

struct Elf64 {
  static constexpr unsigned char number = ELFCLASS64;
  using Ehdr = Elf64_Ehdr;
  using Phdr = Elf64_Phdr;
  using Shdr = Elf64_Shdr;
};
struct Elf32 {
  static constexpr unsigned char number = ELFCLASS32;
  using Ehdr = Elf32_Ehdr;
  using Phdr = Elf32_Phdr;
  using Shdr = Elf32_Shdr;
};

template <class T>
std::string as_text(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

// The linker's note with this build id.
inline std::string id_note(std::string_view id) {
  const Elf64_Nhdr head{sizeof(ELF_NOTE_GNU), static_cast<Elf64_Word>(id.size()), NT_GNU_BUILD_ID};
  return as_text(head) + std::string(ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) + std::string(id);
}

// A header, then one PT_NOTE segment or one SHT_NOTE section with these notes.
template <class Class>
std::string written_elf(const std::string& notes, bool in_section = false) {
  typename Class::Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = Class::number;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_machine = Class::number == ELFCLASS64 ? EM_X86_64 : EM_386;
  header.e_entry = 0x1234;
  header.e_phentsize = sizeof(typename Class::Phdr);
  header.e_shentsize = sizeof(typename Class::Shdr);
  if (in_section) {
    header.e_shoff = sizeof(header);
    header.e_shnum = 1;
    typename Class::Shdr section{};
    section.sh_type = SHT_NOTE;
    section.sh_offset = sizeof(header) + sizeof(section);
    section.sh_size = static_cast<decltype(section.sh_size)>(notes.size());
    return as_text(header) + as_text(section) + notes;
  }
  header.e_phoff = sizeof(header);
  header.e_phnum = 1;
  typename Class::Phdr segment{};
  segment.p_type = PT_NOTE;
  segment.p_offset = sizeof(header) + sizeof(segment);
  segment.p_filesz = static_cast<decltype(segment.p_filesz)>(notes.size());
  return as_text(header) + as_text(segment) + notes;
}

}  // namespace memflame
