// SPDX-License-Identifier: BSD-2-Clause
#include <doctest/doctest.h>
#include <elf.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "core/elf/image.h"
#include "probes/unwind/frame_sections.h"
#include "probes/unwind/table.h"
#include "tests/probes/unwind/table_fixture.h"

using namespace memflame;                   // NOLINT(google-build-using-namespace): tests only
using namespace memflame::unwind;           // NOLINT(google-build-using-namespace): tests only
using namespace memflame::unwind::fixture;  // NOLINT(google-build-using-namespace): tests only

namespace {

const std::vector<Golden> golden_of_rbx{
    {340, row_rsp, 2, 0, 2},
    {344, row_rbx, 3, 0, 2},
    {348, row_rbx, 3, 0, row_rbx_lost},
    {352, row_rsp, 1},
    {356, row_rsp, 1, 0, row_rbx_lost},
    {360, row_rbx, -1},
};
constexpr uint32_t rbx_from = 337, rbx_to = 368;
const std::vector<Golden> golden_of_gaps{
    {368, row_padding}, {373, row_rsp, 1}, {380, row_bad}, {383, row_rsp, 1},
    {384, row_padding}, {432, row_rsp, 1}, {448, row_fp},  {464, row_rsp, 1},
};
constexpr uint32_t gaps_from = 368, gaps_to = 480;

// Rows of a file with .debug_frame. There LLVM's assembler forgets that a frame is a signal's ('S',
// a string of its own after the version); only an expression for rip is left.
std::vector<Golden> golden_of_debug(const std::vector<std::byte>& file) {
  const auto elf = ElfImage::open(ImageBytes(file));
  const Elf64_Shdr* section = elf ? elf->section(".debug_frame") : nullptr;
  REQUIRE(section != nullptr);
  const ImageRange range = section_bytes(ImageBytes(file), *section);
  const std::string_view text(reinterpret_cast<const char*>(range.bytes.data()),
                              range.bytes.size());
  std::vector<Golden> expected = golden;
  const auto signal =
      std::find_if(expected.begin(), expected.end(), [](const Golden& g) { return g.pc == 128; });
  if (text.find(std::string_view("S\0\x01\x78\x10", 5)) == text.npos) signal->kind = row_bad;
  return expected;
}

}  // namespace

TEST_CASE("each kind of row, from the assembler's directives") {
  for (const char* name : {"library.so", "pie", "one_segment.so"}) {
    CAPTURE(std::string(name));
    const Table table = make_table(built(name));
    check_sound(table);
    CHECK(table.malformed == 0);
    check_rows(table, code_offset(name, table), golden);
    check_rows(table, code_offset(name, table), golden_of_rbx, rbx_from, rbx_to);
    check_rows(table, code_offset(name, table), golden_of_gaps, gaps_from, gaps_to);
  }
}

TEST_CASE("each kind of row, out of .debug_frame") {
  const auto bytes = built("debug_frame.so");
  CHECK(ElfImage::open(ImageBytes(bytes))->section(".eh_frame") == nullptr);
  const Table table = make_table(bytes);
  check_sound(table);
  CHECK(table.malformed == 0);
  const uint32_t begin = code_offset("debug_frame.so", table);
  check_rows(table, begin, golden_of_debug(bytes));
  check_rows(table, begin, golden_of_rbx, rbx_from, rbx_to);
}

TEST_CASE("compressed .debug_frame") {
  const auto bytes = built("compressed.so");
  const auto elf = ElfImage::open(ImageBytes(bytes));
  REQUIRE(elf);
  const Elf64_Shdr* section = elf->section(".debug_frame");
  REQUIRE(section != nullptr);
  REQUIRE((section->sh_flags & SHF_COMPRESSED) != 0);
  const Table table = make_table(bytes);
  CHECK(table.malformed == 0);
  check_rows(table, code_offset("compressed.so", table), golden_of_debug(bytes));

  SUBCASE("that claims a size it does not have") {
    for (const uint64_t size : {uint64_t{0}, uint64_t{1} << 60, uint64_t{1} << 20, uint64_t{7}}) {
      auto changed = bytes;
      at<Elf64_Chdr>(changed, section->sh_offset).ch_size = size;
      CHECK(make_table(changed).entries == 0);
    }
  }
  SUBCASE("that is damaged") {
    auto changed = bytes;
    for (uint64_t i = sizeof(Elf64_Chdr); i < section->sh_size; ++i)
      changed[section->sh_offset + i] ^= std::byte{0x55};
    CHECK(make_table(changed).entries == 0);
  }
}

TEST_CASE("code whose entry cannot be understood is marked so, and not guessed at") {
  // Damages the program of the first entry, that of the code at 32, in .eh_frame.
  const auto damaged = [](const char* name) {
    auto bytes = built(name);
    const ImageBytes image(bytes);
    const auto elf = ElfImage::open(image);
    REQUIRE(elf);
    const FoundFrames found = find_frames(image, *elf, false);
    Frames frames;
    read_frames(found.section, frames);
    const uint64_t start = elf->section(".text")->sh_addr + 32;
    const auto fde = std::find_if(frames.fdes.begin(), frames.fdes.end(),
                                  [&](const Fde& f) { return f.start == start; });
    REQUIRE(fde != frames.fdes.end());
    bytes[static_cast<size_t>(fde->program.data() - bytes.data())] = std::byte{0x3f};
    return make_table(bytes);
  };
  const Table table = damaged("library.so");
  check_sound(table);
  CHECK(table.malformed == 1);
  std::vector<Golden> expected(golden.begin() + 5, golden.end());
  expected.insert(expected.begin(), {32, row_bad});
  check_rows(table, code_offset("library.so", table), expected);
  // .debug_frame is used where .eh_frame cannot be understood.
  const Table other = damaged("both.so");
  CHECK(other.malformed == 1);
  check_rows(other, code_offset("both.so", other), golden);
}

TEST_CASE("linkage tables") {
  const auto bytes = built("library.so");
  const Table table = make_table(bytes);
  const auto elf = ElfImage::open(ImageBytes(bytes));
  const Elf64_Shdr* plt = elf->section(".plt");
  REQUIRE(plt != nullptr);
  CHECK(plt->sh_addr == table.base);
  check_rows(table, static_cast<uint32_t>(plt->sh_addr - table.base),
             {{0, row_rsp, 2}, {6, row_rsp, 3}, {16, row_plt, 11}}, 0, 32);
}

TEST_CASE("an entry point that nothing is said about ends stacks, for 64 bytes") {
  const Table table = make_table(built("no_pie"));
  check_sound(table);
  CHECK(table.base == 0x401000);
  std::vector<Golden> expected = golden;
  expected.insert(expected.end() - 1, {288, row_fp});
  check_rows(table, code_offset("no_pie", table), expected);
}

TEST_CASE("the entry point of a library means nothing") {
  const auto bytes = built("needy.so");
  const Table table = make_table(bytes);
  const uint32_t begin = code_offset("needy.so", table);
  std::vector<std::byte> copy = bytes;
  REQUIRE(at<Elf64_Ehdr>(copy, 0).e_entry != 0);
  std::vector<Golden> expected = golden;
  std::erase_if(expected, [](const Golden& g) { return g.pc == 224; });
  check_rows(table, begin, expected);
}
