// SPDX-License-Identifier: BSD-2-Clause
#include "core/elf/image.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "core/elf/symbols.h"
#include "core/elf/vdso.h"
#include "core/recording.h"
#include "tests/core/elf/written_elf.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

ImageBytes image_of(const std::string& text) { return ImageBytes(std::as_bytes(std::span(text))); }

ElfClass class_of(const std::string& text) {
  const SharedFd file(::memfd_create("elf", MFD_CLOEXEC));
  REQUIRE(::pwrite(file.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  return elf_class(file.get());
}

}  // namespace

TEST_CASE("a 64-bit file, and a 32-bit one as if it were of 64") {
  const std::string wide = written_elf<Elf64>("note"), narrow = written_elf<Elf32>("note");
  CHECK(class_of(wide) == ElfClass::x86_64);
  CHECK(class_of(narrow) == ElfClass::other);
  CHECK(ElfImage::open(image_of(wide)));
  CHECK_FALSE(ElfImage::open(image_of(narrow)));
  for (const std::string& text : {wide, narrow}) {
    const auto elf = ElfImage::open_any(image_of(text));
    REQUIRE(elf);
    CHECK(elf->entry() == 0x1234);
    REQUIRE(elf->segments().size() == 1);
    CHECK(elf->segments()[0].p_type == PT_NOTE);
    CHECK(elf->segments()[0].p_filesz == 4);
    CHECK(elf->segments()[0].p_offset + 4 == text.size());
  }
}

TEST_CASE("what is not an ELF file") {
  std::string text = written_elf<Elf64>("note");
  SUBCASE("big-endian") { text[EI_DATA] = ELFDATA2MSB; }
  SUBCASE("of no known class") { text[EI_CLASS] = 3; }
  SUBCASE("cut in its header") { text.resize(sizeof(Elf64_Ehdr) - 1); }
  SUBCASE("empty") { text.clear(); }
  SUBCASE("a script") { text = "#!/bin/sh\nexec something else\n"; }
  CHECK_FALSE(ElfImage::open_any(image_of(text)));
  CHECK(class_of("#!/bin/sh\nexec something else\n") == ElfClass::none);
  CHECK(elf_class(-1) == ElfClass::none);
}

TEST_CASE("segments and sections that the file does not hold are left out") {
  std::string text = written_elf<Elf64>("note");
  auto* header = reinterpret_cast<Elf64_Ehdr*>(text.data());
  header->e_phnum = 1000;
  header->e_shnum = 3;
  header->e_shoff = UINT64_MAX - 8;
  const auto elf = ElfImage::open(image_of(text));
  REQUIRE(elf);
  CHECK(elf->segments().empty());
  CHECK(elf->sections().empty());
}

TEST_CASE("the vdso is a library with symbols") {
  const ImageBytes image(vdso_image());
  const auto elf = ElfImage::open(image);
  REQUIRE(elf);
  size_t found = 0;
  for_each_symbol(image, *elf, [&](const SymbolSection& table, const Elf64_Sym& symbol) {
    if (table.name(symbol) != "__vdso_clock_gettime") return;
    ++found;
    CHECK(table.names_from(symbol).starts_with("__vdso_clock_gettime"));
    CHECK_FALSE(code_at(image, *elf, symbol.st_value, 4).bytes.empty());
  });
  CHECK(found == 1);
}
