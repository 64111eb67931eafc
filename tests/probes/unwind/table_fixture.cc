// SPDX-License-Identifier: BSD-2-Clause
#include "tests/probes/unwind/table_fixture.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "core/elf/image.h"

namespace memflame::unwind::fixture {

std::vector<std::byte> read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> text{std::istreambuf_iterator<char>(in),
                               std::istreambuf_iterator<char>()};
  std::vector<std::byte> bytes(text.size());
  if (!bytes.empty()) std::memcpy(bytes.data(), text.data(), bytes.size());
  return bytes;
}

std::vector<std::byte> built(const char* name) {
  auto bytes = read_bytes(std::string(UNWIND "/") + name);
  REQUIRE(!bytes.empty());
  return bytes;
}

uint32_t code_offset(const char* name, const Table& table) {
  const auto bytes = built(name);
  const auto elf = ElfImage::open(ImageBytes(bytes));
  REQUIRE(elf);
  const Elf64_Shdr* text = elf->section(".text");
  REQUIRE(text != nullptr);
  return static_cast<uint32_t>(text->sh_addr - table.base);
}

const std::vector<Golden> golden{
    {32, row_rsp, 1},    {36, row_rsp, 2, 2},      {40, row_rbp, 2, 2},       {44, row_rsp, 1},
    {48, row_rbp, 2, 2}, {52, row_padding},        {64, row_rsp, 1},          {69, row_rsp, 0xffff},
    {72, row_bad},       {88, row_padding},        {96, row_deref_rsp, 3, 3}, {112, row_rsp, 1},
    {116, row_bad},      {124, row_deref_rbp, -1}, {128, row_signal},         {144, row_end},
    {160, row_fp},       {183, row_signal},  // one byte before the restorer
    {193, row_fp},       {224, row_end},           {320, row_rsp, 1},
};

void check_rows(const Table& table, uint32_t begin, const std::vector<Golden>& expected,
                uint32_t from, uint32_t to) {
  std::vector<row> rows;
  for (const row& r : table.rows)
    if (r.pc >= begin + from && r.pc < begin + to) rows.push_back(r);
  CHECK(rows.size() == expected.size());
  for (size_t i = 0; i < std::min(rows.size(), expected.size()); ++i) {
    CAPTURE(i);
    CHECK(rows[i].pc - begin == expected[i].pc);
    CHECK(rows[i].kind == (expected[i].kind | expected[i].rbx << 4));
    CHECK(rows[i].cfa == static_cast<row_u16>(expected[i].cfa));
    CHECK(rows[i].rbp == expected[i].rbp);
  }
}

const row& row_at(const Table& table, uint32_t pc) {
  const auto behind =
      std::upper_bound(table.rows.begin(), table.rows.end(), pc,
                       [](uint32_t address, const row& r) { return address < r.pc; });
  REQUIRE(behind != table.rows.begin());
  return *(behind - 1);
}

void check_sound(const Table& table) {
  REQUIRE(!table.rows.empty());
  CHECK(table.rows.front().pc == 0);
  size_t wrong = 0;
  for (size_t i = 1; i < table.rows.size(); ++i) {
    const row &a = table.rows[i - 1], &b = table.rows[i];
    if (a.pc >= b.pc || (a.kind == b.kind && a.cfa == b.cfa && a.rbp == b.rbp)) ++wrong;
  }
  CHECK(wrong == 0);
}

}  // namespace memflame::unwind::fixture
