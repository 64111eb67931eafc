// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/plt.h"

#include <gelf.h>

#include <cstring>
#include <unordered_map>

namespace memflame {
namespace {

using Slots = std::unordered_map<uint64_t, std::string>;  // address of the slot -> name

std::string_view string_at(Elf* elf, size_t section, size_t offset) {
  const char* text = elf_strptr(elf, section, offset);
  return text == nullptr ? std::string_view{} : text;
}

// Slots that the dynamic linker fills with the address of one function.
void read_slots(const ElfFile& file, Elf_Scn* section, const GElf_Shdr& header,
                const std::function<std::string_view(uint64_t)>& name_of, Slots& slots) {
  Elf* elf = file.elf();
  Elf_Data* relocations = elf_getdata(section, nullptr);
  Elf_Scn* symbol_section = elf_getscn(elf, header.sh_link);
  GElf_Shdr symbol_header{};
  Elf_Data* symbols = nullptr;
  if (symbol_section != nullptr && gelf_getshdr(symbol_section, &symbol_header) != nullptr &&
      symbol_header.sh_type == SHT_DYNSYM)
    symbols = elf_getdata(symbol_section, nullptr);
  GElf_Rela entry;
  for (int i = 0; relocations != nullptr && gelf_getrela(relocations, i, &entry) != nullptr; ++i) {
    const uint64_t type = GELF_R_TYPE(entry.r_info);
    if (type == R_X86_64_IRELATIVE) {
      const std::string_view name = name_of(static_cast<uint64_t>(entry.r_addend));
      if (!name.empty()) slots.emplace(entry.r_offset, name);
    }
    GElf_Sym symbol;
    if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) || symbols == nullptr ||
        gelf_getsym(symbols, static_cast<int>(GELF_R_SYM(entry.r_info)), &symbol) == nullptr)
      continue;
    const std::string_view name = string_at(elf, symbol_header.sh_link, symbol.st_name);
    if (!name.empty()) slots.emplace(entry.r_offset, name);
  }
}

// A stub is `jmp *slot(%rip)`: ff 25 and a 32-bit distance, possibly behind endbr64, a bnd prefix
// or a mov. Linkers lay stubs out in steps of `step` bytes.
void read_stubs(Elf_Scn* section, const GElf_Shdr& header, uint64_t step, const Slots& slots,
                std::vector<PltStub>& stubs) {
  const Elf_Data* code = elf_getdata(section, nullptr);
  if (code == nullptr || code->d_buf == nullptr) return;
  const unsigned char* bytes = static_cast<const unsigned char*>(code->d_buf);
  for (uint64_t at = 0; at + step <= code->d_size; at += step)
    for (uint64_t jump = at; jump + 6 <= at + step; ++jump) {
      if (bytes[jump] != 0xff || bytes[jump + 1] != 0x25) continue;
      int32_t distance = 0;
      std::memcpy(&distance, bytes + jump + 2, sizeof distance);
      const auto slot =
          slots.find(header.sh_addr + jump + 6 + static_cast<uint64_t>(int64_t{distance}));
      if (slot == slots.end()) continue;
      stubs.push_back({header.sh_addr + at, step, slot->second + "@plt"});
      break;
    }
}

}  // namespace

std::vector<PltStub> plt_stubs(const ElfFile& file,
                               const std::function<std::string_view(uint64_t)>& name_of) {
  Elf* elf = file.elf();
  GElf_Ehdr header;
  size_t names = 0;
  if (gelf_getehdr(elf, &header) == nullptr || header.e_machine != EM_X86_64 ||
      elf_getshdrstrndx(elf, &names) != 0)
    return {};
  Slots slots;
  std::vector<PltStub> stubs;
  GElf_Shdr shape;
  for (Elf_Scn* s = nullptr; (s = elf_nextscn(elf, s)) != nullptr;)
    if (gelf_getshdr(s, &shape) != nullptr && shape.sh_type == SHT_RELA &&
        (shape.sh_flags & SHF_ALLOC) != 0)
      read_slots(file, s, shape, name_of, slots);
  for (Elf_Scn* s = nullptr; (s = elf_nextscn(elf, s)) != nullptr;) {
    if (gelf_getshdr(s, &shape) == nullptr || shape.sh_type != SHT_PROGBITS ||
        (shape.sh_flags & SHF_EXECINSTR) == 0)
      continue;
    const std::string_view name = string_at(elf, names, shape.sh_name);
    if (name == ".plt" || name == ".plt.sec" || name == ".iplt")
      read_stubs(s, shape, 16, slots, stubs);
    // Slots that are not bound lazily need only the jump: 8 bytes, or 16 with endbr64.
    if (name == ".plt.got") read_stubs(s, shape, shape.sh_entsize == 16 ? 16 : 8, slots, stubs);
  }
  return stubs;
}

}  // namespace memflame
