// SPDX-License-Identifier: BSD-2-Clause
// Tables of files that are stripped, cut, foreign or strangely laid out.
#include <doctest/doctest.h>
#include <elf.h>
#include <fcntl.h>

#include <cstring>
#include <span>
#include <string>

#include "core/elf/image.h"
#include "core/unique_fd.h"
#include "probes/unwind/table.h"
#include "tests/probes/unwind/table_fixture.h"

using namespace memflame;                   // NOLINT(google-build-using-namespace): tests only
using namespace memflame::unwind;           // NOLINT(google-build-using-namespace): tests only
using namespace memflame::unwind::fixture;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("without section headers the tables are the same") {
  for (const char* name : {"library.so", "pie", "one_segment.so"}) {
    CAPTURE(std::string(name));
    auto bytes = built(name);
    const Table whole = make_table(bytes);
    auto& header = at<Elf64_Ehdr>(bytes, 0);
    header.e_shoff = 0;
    header.e_shnum = header.e_shstrndx = 0;
    const Table stripped = make_table(bytes);
    REQUIRE(stripped.rows.size() == whole.rows.size());
    CHECK(std::memcmp(stripped.rows.data(), whole.rows.data(), whole.rows.size() * sizeof(row)) ==
          0);
    CHECK(stripped.entries == whole.entries);
    // Without that pointer, only the presence of code is known.
    for (uint16_t i = 0; i < header.e_phnum; ++i) {
      auto& segment = at<Elf64_Phdr>(bytes, header.e_phoff + i * sizeof(Elf64_Phdr));
      if (segment.p_type == PT_GNU_EH_FRAME) segment.p_type = PT_NULL;
    }
    const Table bare = make_table(bytes);
    CHECK(bare.entries == 0);
    CHECK(row_at(bare, 0).kind == row_fp);
    CHECK(row_at(bare, code_offset(name, bare) + 183).kind == row_signal);
  }
}

TEST_CASE("a file read in pieces has the table of its bytes") {
  for (const char* name : {"library.so", "no_pie", "compressed.so"}) {
    const UniqueFd file(::open((std::string(UNWIND "/") + name).c_str(), O_RDONLY | O_CLOEXEC));
    const Table pieces = make_table(ImageBytes(file.get())), whole = make_table(built(name));
    REQUIRE(pieces.rows.size() == whole.rows.size());
    CHECK(std::memcmp(pieces.rows.data(), whole.rows.data(), whole.rows.size() * sizeof(row)) == 0);
    CHECK(pieces.base == whole.base);
  }
}

TEST_CASE("what is not an x86-64 program has neither rows nor segments") {
  auto bytes = built("library.so");
  const auto is_empty = [](std::span<const std::byte> image) {
    const Table table = make_table(image);
    return table.rows.empty() && table.segments.empty();
  };
  CHECK(is_empty({}));
  CHECK(is_empty(std::span(bytes).first(63)));
  SUBCASE("another machine") { at<Elf64_Ehdr>(bytes, 0).e_machine = EM_AARCH64; }
  SUBCASE("32 bits") { bytes[EI_CLASS] = std::byte{ELFCLASS32}; }
  SUBCASE("not linked") { at<Elf64_Ehdr>(bytes, 0).e_type = ET_REL; }
  SUBCASE("segments beyond the end") { at<Elf64_Ehdr>(bytes, 0).e_phoff = UINT64_MAX - 8; }
  SUBCASE("no code") {
    for (uint16_t i = 0; i < at<Elf64_Ehdr>(bytes, 0).e_phnum; ++i)
      at<Elf64_Phdr>(bytes, 64 + i * sizeof(Elf64_Phdr)).p_flags &= ~uint32_t{PF_X};
  }
  CHECK(is_empty(bytes));
  CHECK(is_empty(read_bytes("/proc/self/maps")));
}

TEST_CASE("segments at odd places") {
  auto bytes = built("library.so");
  Elf64_Phdr* code = nullptr;
  for (uint16_t i = 0; i < at<Elf64_Ehdr>(bytes, 0).e_phnum; ++i) {
    auto& segment = at<Elf64_Phdr>(bytes, 64 + i * sizeof(Elf64_Phdr));
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X)) code = &segment;
  }
  REQUIRE(code != nullptr);
  const Elf64_Phdr before = *code;
  SUBCASE("larger than 4 GiB: what lies higher has no rows") {
    code->p_filesz = uint64_t{5} << 30;
    const Table table = make_table(bytes);
    check_sound(table);
    REQUIRE(table.segments.size() == 1);
    CHECK(table.segments[0].size < uint64_t{1} << 32);
    check_rows(table, code_offset("library.so", table), golden);
  }
  SUBCASE("around the end of all addresses") {
    code->p_vaddr = UINT64_MAX - 100;
    CHECK(make_table(bytes).segments.empty());
  }
  SUBCASE("elsewhere than the entries say") {
    code->p_vaddr += 0x10000000;
    const Table table = make_table(bytes);
    CHECK(table.base == before.p_vaddr + 0x10000000);
    CHECK(row_at(table, 0).kind == row_fp);
    CHECK(table.malformed == 0);
  }
}

TEST_CASE("where a mapping puts the base") {
  Table table;
  table.base = 0x2040;
  table.segments = {{0x1040, 0x3000, 0x2040}, {0x4040, 0x1000, 0x8040}};
  uint64_t address = 0;
  // A mapping begins at the page that the segment begins in.
  REQUIRE(base_address(table, 0x7f0000001000, 0x1000, address));
  CHECK(address == 0x7f0000001040);
  // A part of it, as after mprotect.
  REQUIRE(base_address(table, 0x7f0000002000, 0x2000, address));
  CHECK(address == 0x7f0000001040);
  // A page with the end of one segment and the beginning of the next belongs to the next.
  REQUIRE(base_address(table, 0x7f0000007000, 0x4000, address));
  CHECK(address == 0x7f0000001040);
  CHECK(!base_address(table, 0x7f0000000000, 0, address));
  CHECK(!base_address(table, 0x7f0000000000, 0x6000, address));
  CHECK(!base_address(Table{}, 0x7f0000000000, 0, address));
  // Programs linked to a fixed address are mapped at that address.
  const Table no_pie = make_table(built("no_pie"));
  REQUIRE(base_address(no_pie, 0x401000, no_pie.segments.at(0).offset, address));
  CHECK(address == no_pie.base);
}
