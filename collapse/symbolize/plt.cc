// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/plt.h"

#include <cstring>
#include <unordered_map>

#include "core/elf/symbols.h"

namespace memflame {
namespace {

using Slots = std::unordered_map<uint64_t, std::string>;  // address of the slot -> name

// Slots that the dynamic linker fills with the address of one function.
Slots read_slots(const ElfFile& file, const std::function<std::string_view(uint64_t)>& name_of) {
  Slots slots;
  for_each_relocation(file.image(), file.headers(),
                      [&](const SymbolSection& symbols, const Elf64_Rela& entry) {
                        const uint64_t index = ELF64_R_SYM(entry.r_info);
                        std::string_view name;
                        if (ELF64_R_TYPE(entry.r_info) == R_X86_64_IRELATIVE)
                          name = name_of(static_cast<uint64_t>(entry.r_addend));
                        else if (fills_slot(entry) && index < symbols.size())
                          name = symbols.name(symbols.symbol(index));
                        if (!name.empty()) slots.emplace(entry.r_offset, name);
                      });
  return slots;
}

// A stub is `jmp *slot(%rip)`: ff 25 and a 32-bit distance, possibly behind endbr64, a bnd prefix
// or a mov. Linkers lay stubs out in steps of `step` bytes.
void read_stubs(const ElfFile& file, const Elf64_Shdr& header, uint64_t step, const Slots& slots,
                std::vector<PltStub>& stubs) {
  const ImageRange range = raw_section_bytes(file.image(), header);
  const auto* bytes = reinterpret_cast<const unsigned char*>(range.bytes.data());
  for (uint64_t at = 0; at + step <= range.bytes.size(); at += step)
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
  const ElfImage& headers = file.headers();
  if (headers.machine() != EM_X86_64 || !headers.is_wide()) return {};
  const Slots slots = read_slots(file, name_of);
  std::vector<PltStub> stubs;
  const auto is_code = [](const Elf64_Shdr* section) {
    return section != nullptr && section->sh_type == SHT_PROGBITS &&
           (section->sh_flags & SHF_EXECINSTR) != 0;
  };
  for (const char* name : {".plt", ".plt.sec", ".iplt"})
    if (const Elf64_Shdr* section = headers.section(name); is_code(section))
      read_stubs(file, *section, 16, slots, stubs);
  // Slots that are not bound lazily need only the jump: 8 bytes, or 16 with endbr64.
  if (const Elf64_Shdr* section = headers.section(".plt.got"); is_code(section))
    read_stubs(file, *section, section->sh_entsize == 16 ? 16 : 8, slots, stubs);
  return stubs;
}

}  // namespace memflame
