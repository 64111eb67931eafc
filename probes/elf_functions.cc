#include "probes/elf_functions.h"

#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>

namespace memflame {
namespace {

struct ElfCloser {
  void operator()(Elf* elf) const { elf_end(elf); }
};
using ElfPtr = std::unique_ptr<Elf, ElfCloser>;

ElfPtr open_elf(int fd) {
  elf_version(EV_CURRENT);
  return ElfPtr(elf_begin(fd, ELF_C_READ_MMAP, nullptr));
}

// Link-time address -> file offset, by the segment that is loaded from the file. -1 if there is
// none.
uint64_t file_offset(Elf* elf, uint64_t address) {
  size_t count = 0;
  elf_getphdrnum(elf, &count);
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf, static_cast<int>(i), &segment) == nullptr) break;
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz)
      return address - segment.p_vaddr + segment.p_offset;
  }
  return UINT64_MAX;
}

void read_table(Elf* elf, Elf_Scn* section, const GElf_Shdr& header,
                const std::vector<std::string_view>& wanted, std::vector<ElfFunction>& found) {
  // Large libraries have a hundred thousand symbols, and attaching waits for this: so no call a
  // symbol.
  const Elf_Data* data = elf_getdata(section, nullptr);
  const Elf_Data* names = elf_getdata(elf_getscn(elf, header.sh_link), nullptr);
  if (data == nullptr || names == nullptr || names->d_size == 0) return;
  const std::span symbols(static_cast<const Elf64_Sym*>(data->d_buf),
                          data->d_size / sizeof(Elf64_Sym));
  const std::span texts(static_cast<const char*>(names->d_buf), names->d_size);
  if (texts.back() != 0) return;
  // Most of a large program's symbols are out by their first letter.
  std::array<bool, 256> begins{};
  for (const std::string_view name : wanted) begins.at(static_cast<unsigned char>(name[0])) = true;
  for (const Elf64_Sym& symbol : symbols) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
    if (symbol.st_name >= texts.size()) continue;
    const char* text = &texts[symbol.st_name];
    if (!begins.at(static_cast<unsigned char>(*text))) continue;
    std::string_view name = text;
    name = name.substr(0, name.find('@'));
    if (std::find(wanted.begin(), wanted.end(), name) == wanted.end()) continue;
    const uint64_t offset = file_offset(elf, symbol.st_value);
    const bool known = std::any_of(found.begin(), found.end(), [&](const ElfFunction& f) {
      return f.name == name && f.offset == offset;
    });
    if (offset != UINT64_MAX && !known) found.push_back({std::string(name), offset});
  }
}

}  // namespace

std::vector<ElfFunction> find_functions(int fd, const std::vector<std::string_view>& wanted) {
  std::vector<ElfFunction> found;
  if (elf_class(fd) != ElfClass::x86_64) return found;
  const ElfPtr elf = open_elf(fd);
  if (!elf) return found;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf.get(), section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) break;
    if (header.sh_type == SHT_DYNSYM || header.sh_type == SHT_SYMTAB)
      read_table(elf.get(), section, header, wanted, found);
  }
  return found;
}

ElfClass elf_class(int fd) {
  std::array<unsigned char, 20> head{};
  if (::pread(fd, head.data(), head.size(), 0) != static_cast<ssize_t>(head.size()) ||
      !std::equal(head.begin(), head.begin() + 4, ELFMAG))
    return ElfClass::none;
  const unsigned machine = head[18] | (unsigned{head[19]} << 8);
  return head[EI_CLASS] == ELFCLASS64 && machine == EM_X86_64 ? ElfClass::x86_64 : ElfClass::other;
}

}  // namespace memflame
