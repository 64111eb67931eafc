// SPDX-License-Identifier: BSD-2-Clause
#include "core/elf/go_table.h"

#include <algorithm>
#include <map>

#include "core/elf/symbols.h"

namespace memflame {
namespace {

constexpr size_t most_descriptions = 16;

uint64_t inlined_by_symbol(const ImageBytes& image, const ElfImage& elf) {
  uint64_t found = 0;
  for_each_symbol(image, elf, [&](const SymbolSection& table, const Elf64_Sym& symbol) {
    const std::string_view name = table.name(symbol);
    if (name == "go:func.*" || name == "go.func.*") found = symbol.st_value;
  });
  return found;
}

// The words of a program's data as they are once it is loaded, counted from the file's addresses.
class Words {
 public:
  Words(const ImageBytes& image, const ElfImage& elf) : image_(image), elf_(elf) {
    for_each_relocation(image, elf, [&](const SymbolSection&, const Elf64_Rela& each) {
      if (ELF64_R_TYPE(each.r_info) == R_X86_64_RELATIVE)
        relocated_.emplace(each.r_offset, static_cast<uint64_t>(each.r_addend));
    });
  }

  // Where this word lies in memory that the program may write to, or could while it was loaded.
  std::vector<uint64_t> find(uint64_t wanted) const {
    std::vector<uint64_t> found;
    for (const auto& [address, word] : relocated_)
      if (word == wanted && found.size() < most_descriptions) found.push_back(address);
    for (const Elf64_Shdr& section : elf_.sections()) {
      if (section.sh_type != SHT_PROGBITS || (section.sh_flags & SHF_WRITE) == 0) continue;
      const ImageRange range = raw_section_bytes(image_, section);
      uint64_t address = section.sh_addr;
      for_each_in<uint64_t>(range.bytes, [&](uint64_t word) {
        if (word == wanted && found.size() < most_descriptions) found.push_back(address);
        address += sizeof word;
      });
    }
    return found;
  }

  uint64_t at(uint64_t address) const {
    if (const auto found = relocated_.find(address); found != relocated_.end())
      return found->second;
    uint64_t word = 0;
    const ImageRange range = loaded_at(image_, elf_, address, sizeof word);
    if (range.bytes.size() == sizeof word) std::memcpy(&word, range.bytes.data(), sizeof word);
    return word;
  }

 private:
  const ImageBytes& image_;
  const ElfImage& elf_;
  std::map<uint64_t, uint64_t> relocated_;
};

// runtime.firstmoduledata begins with the table's address. Behind it are lists and the limits of
// the program's parts, the last two of which are where read-only data begins, and what is sought.
// Go 1.20 has two limits more.
uint64_t inlined_by_description(const ImageBytes& image, const ElfImage& elf,
                                const Elf64_Shdr& table) {
  constexpr uint64_t first_code_at = 160, text_at = 176;
  uint32_t form = 0;
  const ImageRange head = image.range(table.sh_offset, sizeof form);
  if (head.bytes.empty()) return 0;
  std::memcpy(&form, head.bytes.data(), sizeof form);
  const uint64_t constants_at = form == go_form_1_20 ? 312 : 296;
  const Words words(image, elf);
  for (const uint64_t description : words.find(table.sh_addr)) {
    if (words.at(description + first_code_at) != words.at(description + text_at)) continue;
    const uint64_t constants = words.at(description + constants_at);
    const uint64_t sought = words.at(description + constants_at + 8);
    const Elf64_Phdr* segment = elf.loaded(sought);
    if (constants != 0 && constants <= sought && segment != nullptr &&
        segment == elf.loaded(constants) && (segment->p_flags & PF_W) == 0)
      return sought;
  }
  return 0;
}

GoFunctions::ReadCode reader(const ImageBytes& image, const ElfImage& elf) {
  return [&](uint64_t address, std::span<std::byte> to) {
    const ImageRange range = loaded_at(image, elf, address, to.size());
    if (range.bytes.size() != to.size()) return false;
    std::ranges::copy(range.bytes, to.begin());
    return true;
  };
}

// Where the trees of inlined functions are; 0: unknown. By its symbol, or in a stripped file from
// the runtime's description of the program.
uint64_t inlined_in(const ImageBytes& image, const ElfImage& elf) {
  if (const uint64_t found = inlined_by_symbol(image, elf); found != 0) return found;
  for (const char* name : go_sections)
    if (const Elf64_Shdr* section = elf.section(name))
      return inlined_by_description(image, elf, *section);
  return 0;
}

}  // namespace

GoTable go_table(const ImageBytes& image, const ElfImage& elf) {
  GoTable table;
  for (const char* name : go_sections)
    if (const Elf64_Shdr* section = elf.section(name)) table.bytes = section_bytes(image, *section);
  if (table.bytes.bytes.empty()) return table;
  const Elf64_Shdr* text = elf.section(".text");
  table.functions.emplace(table.bytes.bytes, text == nullptr ? 0 : text->sh_addr,
                          reader(image, elf));
  return table;
}

GoProgram::GoProgram(const ImageBytes& image, const ElfImage& elf)
    : table_(go_table(image, elf)), read_(reader(image, elf)) {
  if (table_.functions) lines_.emplace(*table_.functions, read_, inlined_in(image, elf));
}

}  // namespace memflame
