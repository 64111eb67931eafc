// SPDX-License-Identifier: BSD-2-Clause
#include "core/elf/go_table.h"

#include <algorithm>

namespace memflame {

GoTable go_table(const ImageBytes& image, const ElfImage& elf) {
  GoTable table;
  for (const char* name : go_sections)
    if (const Elf64_Shdr* section = elf.section(name)) table.bytes = section_bytes(image, *section);
  if (table.bytes.bytes.empty()) return table;
  const Elf64_Shdr* text = elf.section(".text");
  table.functions.emplace(table.bytes.bytes, text == nullptr ? 0 : text->sh_addr,
                          [&](uint64_t address, std::span<std::byte> to) {
                            const ImageRange code = code_at(image, elf, address, to.size());
                            if (code.bytes.size() != to.size()) return false;
                            std::ranges::copy(code.bytes, to.begin());
                            return true;
                          });
  return table;
}

}  // namespace memflame
