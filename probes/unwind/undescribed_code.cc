// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/undescribed_code.h"

#include <algorithm>
#include <cstring>

#include "probes/unwind/stack_effect.h"

namespace memflame::unwind {
namespace {

constexpr uint64_t max_entries = 64 << 20;  // bytes of a table of symbols, or of relocations
constexpr uint64_t max_gaps = 16 << 20;     // bytes of all gaps

// Calls `visit` for each entry of a section that holds nothing else.
template <typename Entry, typename Visit>
void each(const ImageBytes& image, const ElfImage& elf, const char* name, Visit visit) {
  const Elf64_Shdr* section = elf.section(name);
  if (section == nullptr || section->sh_size > max_entries) return;
  for_each_in<Entry>(raw_section_bytes(image, *section).bytes, visit);
}

// Calls `visit` with the targets of all calls and jumps in these functions, decoded in order.
template <typename Visit>
void each_target(const ImageBytes& image, const ElfImage& elf,
                 const std::vector<CodeGap>& functions, Visit visit) {
  uint64_t budget = max_gaps;
  for (const CodeGap& function : functions) {
    const uint64_t size = std::min(function.end - function.start, budget);
    budget -= size;
    const ImageRange code = code_at(image, elf, function.start, size);
    for (uint64_t at = 0; at < code.bytes.size();) {
      const StackEffect effect = stack_effect(code.bytes.subspan(at), function.start + at);
      if (effect.length == 0) break;
      if (effect.target != 0) visit(effect.target);
      at += effect.length;
    }
  }
}

}  // namespace

FollowedCode follow_gaps(const ImageBytes& image, const ElfImage& elf,
                         const std::vector<CodeGap>& gaps, const std::vector<CodeGap>& described,
                         uint64_t entry) {
  UndescribedCode code;
  std::vector<ImageRange> held;
  uint64_t size = 0;
  for (const CodeGap& gap : gaps) {
    size += gap.end - gap.start;
    if (size > max_gaps) return {{}, true};
    held.push_back(code_at(image, elf, gap.start, gap.end - gap.start));
    if (!held.back().bytes.empty()) code.parts.push_back({gap.start, held.back().bytes});
  }
  const auto is_in_gap = [&](uint64_t address) {
    const auto behind = std::ranges::upper_bound(gaps, address, {}, &CodeGap::start);
    return behind != gaps.begin() && address < (behind - 1)->end;
  };
  if (const Elf64_Shdr* text = elf.section(".text")) {
    code.text = text->sh_addr;
    code.text_end = text->sh_addr + text->sh_size;
  }
  for (const char* symbols : {".symtab", ".dynsym"})
    each<Elf64_Sym>(image, elf, symbols, [&](const Elf64_Sym& symbol) {
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF &&
          symbol.st_value != entry && is_in_gap(symbol.st_value))
        code.starts.push_back(symbol.st_value);
    });
  if (elf.section(".symtab") == nullptr)
    each_target(image, elf, described, [&](uint64_t target) {
      if (is_in_gap(target)) code.starts.push_back(target);
    });
  each<Elf64_Rela>(image, elf, ".rela.dyn", [&](const Elf64_Rela& relocation) {
    const auto address = static_cast<uint64_t>(relocation.r_addend);
    if (ELF64_R_TYPE(relocation.r_info) == R_X86_64_RELATIVE && address >= code.text &&
        address < code.text_end && is_in_gap(address))
      code.pointers.push_back(address);
  });
  // Only a program that is never moved can hold addresses in its instructions.
  code.absolute = elf.loaded(0) == nullptr;
  if (is_in_gap(entry)) code.entry = entry;
  return follow(code);
}

}  // namespace memflame::unwind
