// SPDX-License-Identifier: BSD-2-Clause
#include "core/elf/valgrind.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/core/elf/written_elf.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

// A program with one segment at an address, and one of another type.
bool is_tool(uint64_t address, const std::string& content, uint32_t other = PT_NOTE) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_EXEC;
  header.e_machine = EM_X86_64;
  header.e_phoff = sizeof(header);
  header.e_phnum = 2;
  header.e_phentsize = sizeof(Elf64_Phdr);
  Elf64_Phdr first{}, second{};
  first.p_type = other;
  second.p_type = PT_LOAD;
  second.p_vaddr = address;
  second.p_filesz = sizeof(header) + 2 * sizeof(first) + content.size();
  const std::string file = as_text(header) + as_text(first) + as_text(second) + content;
  const ImageBytes image(std::as_bytes(std::span(file)));
  const std::optional<ElfImage> elf = ElfImage::open(image);
  REQUIRE(elf);
  return is_valgrind_tool(image, *elf);
}

}  // namespace

TEST_CASE("a tool of valgrind is known by its place and its content") {
  constexpr uint64_t place = 0x58000000, usual = 0x400000;
  const std::string text = std::string(1, '\0') + "VALGRIND_LAUNCHER";
  CHECK(is_tool(place, text));
  CHECK(is_tool(place, std::string((1 << 20) - 190, 'x') + text));  // across two pieces
  CHECK(is_tool(0x38000000, text));
  CHECK_FALSE(is_tool(place, "valgrind"));
  CHECK_FALSE(is_tool(usual, text));
  CHECK_FALSE(is_tool(place, text, PT_INTERP));  // its launcher, or another dynamic program
}
