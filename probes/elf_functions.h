// Finding functions by name in an ELF file, for uprobes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace memflame {

struct ElfFunction {
  std::string name;
  uint64_t offset = 0;  // in the file, as uprobes want it
};

// Which of the wanted functions this file defines, from .dynsym and .symtab (.symtab of a separate
// debug file is not needed: an exported allocator is always in .dynsym). Version suffixes
// (@GLIBC_…) are not part of names. Empty for what is no x86-64 ELF file.
std::vector<ElfFunction> find_functions(int fd, const std::vector<std::string_view>& wanted);

enum class ElfClass : uint8_t { none, x86_64, other };
ElfClass elf_class(int fd);

}  // namespace memflame
