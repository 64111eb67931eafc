// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/finding/file_code.h"

#include <doctest/doctest.h>
#include <elf.h>
#include <fcntl.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "core/elf/image.h"
#include "core/unique_fd.h"
#include "probes/alloc/finding/elf_functions.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr uint64_t text_at = 0x1000, function_size = 8000;

// An ELF file with one segment of instructions that are one byte each.
std::vector<std::byte> file_of_nops(size_t size) {
  std::vector<std::byte> file(text_at + size, std::byte{0x90});
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_phoff = header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  header.e_shentsize = sizeof(Elf64_Shdr);
  Elf64_Phdr segment{};
  segment.p_type = PT_LOAD;
  segment.p_flags = PF_R | PF_X;
  segment.p_offset = segment.p_vaddr = segment.p_paddr = text_at;
  segment.p_filesz = segment.p_memsz = size;
  segment.p_align = 0x1000;
  std::memcpy(file.data(), &header, sizeof(header));
  std::memcpy(file.data() + sizeof(header), &segment, sizeof(segment));
  return file;
}

}  // namespace

// Functions may overlap, so a small file can have more code to decode than memory has room for.
TEST_CASE("no more is decoded of one file than about a million instructions") {
  constexpr uint64_t functions = 300;
  const auto file = file_of_nops(function_size + functions);
  const ImageBytes image(file);
  const auto elf = ElfImage::open(image);
  REQUIRE(elf);
  FileCode code(image, *elf, false);
  size_t decoded = 0;
  for (uint64_t i = 0; i < functions; ++i)
    decoded += code.body(text_at + i, function_size, {}).code.size();
  CHECK(decoded > (1 << 20));
  CHECK(decoded <= (1 << 20) + function_size);
  // What was decoded before is still known; the rest says that it is incomplete.
  CHECK(code.body(text_at, function_size, {}).code.size() == function_size);
  CHECK(code.body(text_at, function_size, {}).gap.empty());
  CHECK(!code.body(text_at + functions - 1, function_size, {}).gap.empty());
}

TEST_CASE("a call in place of a nop may overwrite data in the red zone") {
  const UniqueFd file(::open(ALLOCATORS "/red_zone.so", O_RDONLY | O_CLOEXEC));
  const ImageBytes image(file.get());
  const auto elf = ElfImage::open(image);
  REQUIRE(elf);
  FileCode code(image, *elf, true);
  const auto overwrites = [&](const std::string& name) {
    const std::vector<ElfFunction> found = find_functions(file.get(), {"at_" + name});
    REQUIRE_MESSAGE(found.size() == 1, name);
    return code.call_may_overwrite(found[0].address);
  };
  for (const char* name : {"below", "framed", "asks_kernel", "copied", "split", "unknown"})
    CHECK_MESSAGE(overwrites(name), name);
  for (const char* name : {"one_byte", "calls", "registers", "moved"})
    CHECK_FALSE_MESSAGE(overwrites(name), name);
}
