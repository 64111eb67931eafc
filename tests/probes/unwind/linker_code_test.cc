// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/linker_code.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>

#include "probes/unwind/table.h"

using namespace memflame;          // NOLINT(google-build-using-namespace): tests only
using namespace memflame::unwind;  // NOLINT(google-build-using-namespace): tests only

namespace {

using Code = std::vector<std::byte>;

Code bytes(std::initializer_list<int> values) {
  Code code;
  for (const int v : values) code.push_back(static_cast<std::byte>(v));
  return code;
}
Code operator+(Code a, const Code& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Code operator*(size_t times, const Code& part) {
  Code code;
  while (times-- > 0) code = std::move(code) + part;
  return code;
}

const Code landing = bytes({0xf3, 0x0f, 0x1e, 0xfa});
const Code sub = bytes({0x48, 0x83, 0xec, 8}), add_ret = bytes({0x48, 0x83, 0xc4, 8, 0xc3});
const Code gmon = bytes({0x48, 0x8b, 5, 1, 2, 3, 4, 0x48, 0x85, 0xc0, 0x74, 2, 0xff, 0xd0});
const Code call = bytes({0xe8, 1, 2, 3, 4});
const Code header = bytes({0xff, 0x35, 1, 2, 3, 4, 0xff, 0x25, 1, 2, 3, 4, 0x0f, 0x1f, 0x40, 0});
const Code jump = bytes({0xff, 0x25, 1, 2, 3, 4}), bound_jump = bytes({0xf2}) + jump;
const Code push = bytes({0x68, 9, 0, 0, 0}), back = bytes({0xe9, 1, 2, 3, 4});
const Code lazy = jump + push + back;
const Code lazy_landing = landing + push + back + bytes({0x66, 0x90});
const Code short_entry = jump + bytes({0x66, 0x90});
const Code landing_entry = landing + jump + bytes({0x66, 0x0f, 0x1f, 0x44, 0, 0});

constexpr uint64_t address = 0x401020;

struct Expected {
  uint32_t pc;
  row_kind kind;
  int cfa;
};
bool is(const KnownCode& known, std::initializer_list<Expected> rows) {
  return std::equal(known.rows.begin(), known.rows.end(), rows.begin(), rows.end(),
                    [](const row& r, const Expected& e) {
                      return r.pc == e.pc && r.kind == e.kind && r.cfa == e.cfa && r.rbp == 0;
                    });
}

Code read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> text{std::istreambuf_iterator<char>(in),
                               std::istreambuf_iterator<char>()};
  Code code(text.size());
  if (!code.empty()) std::memcpy(code.data(), text.data(), code.size());
  return code;
}
Code built(const char* name) {
  Code code = read_bytes(std::string(UNWIND "/") + name);
  REQUIRE(!code.empty());
  return code;
}

Elf64_Shdr section(const Code& image, const char* name) {
  const auto elf = ElfImage::open(ImageBytes(image));
  const Elf64_Shdr* found = elf ? elf->section(name) : nullptr;
  CAPTURE(std::string(name));
  REQUIRE(found != nullptr);
  return *found;
}

row row_at(const Table& table, uint64_t at) {
  const auto behind = std::upper_bound(table.rows.begin(), table.rows.end(), at - table.base,
                                       [](uint64_t pc, const row& r) { return pc < r.pc; });
  REQUIRE(behind != table.rows.begin());
  return *(behind - 1);
}
bool is_at(const Table& table, uint64_t at, row_kind kind, int cfa = 0) {
  const row found = row_at(table, at);
  return found.kind == kind && found.cfa == cfa && found.rbp == 0;
}

}  // namespace

TEST_CASE(".init and .fini, of glibc and of musl") {
  const auto list = [](const Code& code) { return list_of_calls(code, address); };
  CHECK(is(list(sub + add_ret), {{0, row_rsp, 1}, {4, row_rsp, 2}, {8, row_rsp, 1}}));
  CHECK(list(sub + add_ret).start == address);
  CHECK(list(sub + add_ret + call).end == address + 9);
  CHECK(is(list(landing + sub + gmon + call + call + add_ret),
           {{0, row_rsp, 1}, {8, row_rsp, 2}, {36, row_rsp, 1}}));
  CHECK(is(list(bytes({0x50, 0x58, 0xc3})), {{0, row_rsp, 1}, {1, row_rsp, 2}, {2, row_rsp, 1}}));
  CHECK(is(list(bytes({0x50}) + call + bytes({0x58, 0xc3})),
           {{0, row_rsp, 1}, {1, row_rsp, 2}, {7, row_rsp, 1}}));
  // Static programs have no __gmon_start__ to load.
  CHECK(
      !list(sub + bytes({0x48, 0xc7, 0xc0, 0, 0, 0, 0, 0x48, 0x85, 0xc0}) + add_ret).rows.empty());
}

TEST_CASE("anything else in .init is not known") {
  const Code whole = landing + sub + gmon + call + add_ret;
  const Code others[] = {
      {},
      call + add_ret,                                        // no beginning
      bytes({0x48, 0x83, 0xec, 0x18}) + add_ret,             // another size
      sub + bytes({0x53}) + call + add_ret,                  // pushes rbx
      sub + bytes({0x48, 0x83, 0xec, 8}) + add_ret,          // twice
      sub + bytes({0x48, 0x83, 0xc4, 8, 0xe9, 0, 0, 0, 0}),  // leaves by a jump
      sub + bytes({0xeb, 0}) + add_ret,                      // jumps
  };
  for (const Code& other : others) CHECK(list_of_calls(other, address).rows.empty());
  for (size_t size = 0; size < whole.size(); ++size)
    CHECK(list_of_calls(Bytes(whole).first(size), address).rows.empty());
}

TEST_CASE("linkage tables") {
  const auto table = [](const Code& code) { return linkage_table(code, address); };
  CHECK(is(table(header + 3 * lazy), {{0, row_rsp, 2}, {6, row_rsp, 3}, {16, row_plt, 11}}));
  CHECK(table(header + 3 * lazy).end == address + 64);
  CHECK(is(table(header + lazy_landing), {{0, row_rsp, 2}, {6, row_rsp, 3}, {16, row_plt, 9}}));
  CHECK(is(table(3 * lazy), {{0, row_plt, 11}}));  // lld's .iplt
  CHECK(is(table(3 * short_entry), {{0, row_rsp, 1}}));
  CHECK(is(table(2 * (bound_jump + bytes({0x90}))), {{0, row_rsp, 1}}));
  CHECK(is(table(3 * landing_entry), {{0, row_rsp, 1}}));
  CHECK(is(table(landing + bound_jump + bytes({0x0f, 0x1f, 0x44, 0, 0})), {{0, row_rsp, 1}}));
  // Static programs have tables of jumps that are aligned to 8.
  CHECK(is(linkage_table(2 * short_entry, address + 8), {{0, row_rsp, 1}}));
}

TEST_CASE("anything else is not a linkage table that is known") {
  const Code others[] = {
      {},
      header,
      lazy + header,
      header + lazy + lazy_landing,         // two thresholds
      lazy + landing_entry,                 // some push, some do not
      header + lazy + jump,                 // cut short
      header + jump + push + jump,          // no way back
      2 * short_entry + bytes({0x50}),      // something behind
      short_entry + push + back,            // a push alone is shorter than an entry
      bytes({0x53}) + jump + bytes({0x90})  // pushes rbx
  };
  for (const Code& other : others) CHECK(linkage_table(other, address).rows.empty());
  // The row's threshold counts from multiples of 16.
  CHECK(linkage_table(header + lazy, address + 8).rows.empty());
}

TEST_CASE("tables that are not described have the rows of those that are") {
  const std::pair<const char*, const char*> pairs[] = {{"linker.so", "linker_described.so"},
                                                       {"ibt.so", "ibt_described.so"}};
  for (const auto& pair : pairs) {
    const std::string name = pair.first;
    CAPTURE(name);
    const Code image = built(pair.first), oracle = built(pair.second);
    const Table table = make_table(image), expected = make_table(oracle);
    CHECK(table.entries < expected.entries);
    size_t compared = 0, different = 0;
    for (const char* part : {".plt", ".plt.got", ".plt.sec"}) {
      if (std::string(part) == ".plt.sec" && name == "linker.so") continue;
      const Elf64_Shdr s = section(image, part);
      REQUIRE(section(oracle, part).sh_addr == s.sh_addr);
      for (uint64_t at = s.sh_addr; at < s.sh_addr + s.sh_size; ++at) {
        const row ours = row_at(table, at), theirs = row_at(expected, at);
        ++compared;
        if (ours.kind == row_fp || ours.kind != theirs.kind || ours.cfa != theirs.cfa ||
            ours.rbp != theirs.rbp)
          ++different;
      }
    }
    CHECK(compared >= 56);
    CHECK(different == 0);
  }
}

TEST_CASE("by section, or without section headers by PT_DYNAMIC") {
  Code image = built("linker.so");
  const uint64_t init = section(image, ".init").sh_addr, fini = section(image, ".fini").sh_addr;
  const uint64_t plt = section(image, ".plt").sh_addr;
  const auto check = [&](const Table& table) {
    CHECK(table.malformed == 0);
    CHECK(is_at(table, init, row_rsp, 1));
    CHECK(is_at(table, init + 3, row_rsp, 1));
    CHECK(is_at(table, init + 4, row_rsp, 2));
    CHECK(is_at(table, init + 26, row_rsp, 2));
    CHECK(is_at(table, init + 27, row_rsp, 1));
    CHECK(is_at(table, fini + 7, row_rsp, 1));
    CHECK(is_at(table, fini + 8, row_rsp, 2));
    CHECK(is_at(table, fini + 17, row_rsp, 1));
  };
  const Table whole = make_table(image);
  check(whole);
  CHECK(is_at(whole, plt + 16, row_plt, 11));
  // Changed code is not recognised any more; the rest still is.
  const auto change = [&](uint64_t at) {
    const Elf64_Shdr code = section(image, ".init");
    Code changed = image;
    changed[code.sh_offset + (at - code.sh_addr)] ^= std::byte{1};
    return make_table(changed);
  };
  CHECK(is_at(change(init + 1), init, row_fp));
  CHECK(is_at(change(init + 1), plt + 16, row_plt, 11));
  CHECK(is_at(change(plt + 16), plt, row_fp));
  CHECK(is_at(change(plt + 16), init, row_rsp, 1));

  Elf64_Ehdr elf;
  std::memcpy(&elf, image.data(), sizeof(elf));
  elf.e_shoff = 0;
  elf.e_shnum = elf.e_shstrndx = 0;
  std::memcpy(image.data(), &elf, sizeof(elf));
  const Table stripped = make_table(image);
  check(stripped);
  CHECK(is_at(stripped, plt + 16, row_fp));
}

#ifndef MEMFLAME_SANITIZED  // a program under sanitizers is a hundred times as long
TEST_CASE("this program's own .init") {
  const Code image = read_bytes("/proc/self/exe");
  const auto elf = ElfImage::open(ImageBytes(image));
  REQUIRE(elf);
  const Elf64_Shdr* init = elf->section(".init");
  if (init == nullptr) {
    MESSAGE("it has none: not compared");
    return;
  }
  const Table table = make_table(image);
  CHECK(is_at(table, init->sh_addr, row_rsp, 1));
  CHECK(is_at(table, init->sh_addr + init->sh_size - 2, row_rsp, 2));
  CHECK(is_at(table, init->sh_addr + init->sh_size - 1, row_rsp, 1));
}
#endif
