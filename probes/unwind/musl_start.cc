// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/musl_start.h"

#include <cstring>

#include "core/elf/symbols.h"
#include "probes/unwind/instructions.h"

namespace memflame::unwind {
namespace {

constexpr uint64_t max_function = 128;  // bytes of each function that are looked at; 80 are usual
constexpr uint64_t max_relocating = 1024;  // of _start_c if it relocates; 730 are usual

// Code from an address on.
class MuslCode {
 public:
  MuslCode(const ImageBytes& image, const ElfImage& elf, uint64_t address,
           uint64_t most = max_function)
      : address_(address), range_(code_at(image, elf, address, most)) {}

  Bytes bytes() const { return range_.bytes; }
  // The address that the four bytes before `at` give as a distance from `at`.
  uint64_t target(const Instructions& at) const {
    return address_ + at.at() + static_cast<uint64_t>(at.number(4));
  }

 private:
  uint64_t address_;
  ImageRange range_;
};

// xor %rbp,%rbp; mov %rsp,%rdi; lea _DYNAMIC(%rip),%rsi; and $-16,%rsp; call _start_c
std::optional<uint64_t> start_c(const MuslCode& code) {
  Instructions in(code.bytes());
  if (in.pass({0x48, 0x31, 0xed, 0x48, 0x89, 0xe7, 0x48, 0x8d, 0x35}, 4) &&
      in.pass({0x48, 0x83, 0xe4, 0xf0, 0xe8}, 4))
    return code.target(in);
  return std::nullopt;
}

// _start_c loads what __libc_start_main takes, and jumps there. In a program that relocates itself
// (static-pie) _start_c does that first, and jumps to __dls2, which does the rest.
std::optional<uint64_t> start_main(const MuslCode& code) {
  Instructions in(code.bytes());
  in.landing();
  const auto loads = [&in](int prefix, int loaded, int immediate) {
    return in.pass({prefix, 0x8d, loaded}, 4) || in.pass({prefix, 0x8b, loaded}, 4) ||
           in.pass({prefix == 0x4c ? 0x49 : prefix, 0xc7, immediate}, 4);
  };
  while (in.pass({0x8b, 0x37}) || in.pass({0x48, 0x63, 0x37}) ||  // argc
         in.pass({0x8b, 0x36}) || in.pass({0x48, 0x63, 0x36}) || in.pass({0x48, 0x8d, 0x57, 8}) ||
         in.pass({0x48, 0x8d, 0x56, 8}) ||                      // argv
         in.pass({0x45, 0x31, 0xc9}) ||                         // 0
         loads(0x4c, 0x05, 0xc0) ||                             // _fini
         loads(0x48, 0x0d, 0xc1) || loads(0x48, 0x3d, 0xc7) ||  // _init, main
         in.pass({0x48, 0x83, 0xec, 8}))
    continue;
  return in.pass({0xe9}, 4) || in.pass({0xe8}, 4) ? std::optional(code.target(in)) : std::nullopt;
}

// It ends with lea libc_start_main_stage2(%rip),%rax; pop …; jmp *%rax. So does a _start_c that
// relocates, with __dls2, and moves what that takes to registers.
std::optional<uint64_t> next_stage(const MuslCode& code) {
  for (size_t at = 0; at < code.bytes().size(); ++at) {
    Instructions in(code.bytes().subspan(at));
    if (!in.pass({0x48, 0x8d, 0x05}, 4)) continue;
    const uint64_t stage = at + code.target(in);
    while (in.pass({0x5b}) || in.pass({0x5d}) || in.pass({0x41, 0x5c}) || in.pass({0x41, 0x5d}) ||
           in.pass({0x41, 0x5e}) || in.pass({0x41, 0x5f}) || in.pass({0x48, 0x83, 0xc4}, 1) ||
           in.pass({0x48, 0x81, 0xc4}, 4) || in.pass({0x4c, 0x89}, 1))
      continue;
    if (in.pass({0xff, 0xe0})) return stage;
  }
  return std::nullopt;
}

// call *%reg; mov %eax,%edi; call exit: how many bytes up to the end of that; 0 if it is not found.
uint64_t size_of_stage(const MuslCode& code) {
  for (size_t at = 0; at < code.bytes().size(); ++at) {
    Instructions in(code.bytes().subspan(at));
    in.pass({0x41});
    if (!in.pass({0xff}) || (in.peek() & 0xf8) != 0xd0 || !in.skip(1)) continue;
    if (in.pass({0x89, 0xc7, 0xe8}, 4)) return at + in.at();
  }
  return 0;
}

// The address of a function that a library exports. `wanted`: the name with its final zero byte.
std::optional<uint64_t> exported(const ImageBytes& image, const ElfImage& elf,
                                 std::string_view wanted) {
  const Elf64_Shdr* section = elf.section(".dynsym");
  if (section == nullptr) return std::nullopt;
  const SymbolSection table(image, elf, *section);
  for (size_t i = 0; i < table.size(); ++i) {
    const Elf64_Sym symbol = table.symbol(i);
    if (symbol.st_shndx != SHN_UNDEF && table.names_from(symbol).starts_with(wanted))
      return symbol.st_value;
  }
  return std::nullopt;
}

}  // namespace

std::optional<KnownCode> musl_start(const ImageBytes& image, const ElfImage& elf) {
  const std::optional<uint64_t> start = start_c(MuslCode(image, elf, elf.entry()));
  std::optional<uint64_t> at;
  if (start) at = start_main(MuslCode(image, elf, *start));
  if (start && !at)
    if (const auto second = next_stage(MuslCode(image, elf, *start, max_relocating)))
      at = start_main(MuslCode(image, elf, *second));
  // The library's entry point is not _start but its own, which looks different.
  if (!at) at = exported(image, elf, std::string_view("__libc_start_main\0", 18));
  if (at) at = next_stage(MuslCode(image, elf, *at));
  if (!at) return std::nullopt;
  const uint64_t size = size_of_stage(MuslCode(image, elf, *at));
  if (size == 0) return std::nullopt;
  return KnownCode{*at, *at + size, {{0, 0, row_end, 0}}};
}

}  // namespace memflame::unwind
