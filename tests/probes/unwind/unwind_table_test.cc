// SPDX-License-Identifier: BSD-2-Clause
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <libelf.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/elf/image.h"
#include "probes/unique_fd.h"
#include "probes/unwind/frame_sections.h"
#include "probes/unwind/linker_code.h"
#include "probes/unwind/startup_code.h"
#include "probes/unwind/table.h"

using namespace memflame;          // NOLINT(google-build-using-namespace): tests only
using namespace memflame::unwind;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::vector<std::byte> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> text{std::istreambuf_iterator<char>(in),
                               std::istreambuf_iterator<char>()};
  std::vector<std::byte> bytes(text.size());
  if (!bytes.empty()) std::memcpy(bytes.data(), text.data(), bytes.size());
  return bytes;
}

std::vector<std::byte> built(const char* name) {
  auto bytes = read_file(std::string(UNWIND "/") + name);
  REQUIRE(!bytes.empty());
  return bytes;
}

template <typename T>
T& at(std::vector<std::byte>& bytes, uint64_t offset) {
  REQUIRE(offset + sizeof(T) <= bytes.size());
  return *reinterpret_cast<T*>(bytes.data() + offset);
}

// Offset from the table's base of `begin` in the files made of rules.S, where .text begins.
uint32_t code_offset(const char* name, const Table& table) {
  const auto bytes = built(name);
  const auto elf = ElfImage::open(ImageBytes(bytes));
  REQUIRE(elf);
  const Elf64_Shdr* text = elf->section(".text");
  REQUIRE(text != nullptr);
  return static_cast<uint32_t>(text->sh_addr - table.base);
}

struct Golden {
  uint32_t pc;
  row_kind kind;
  int cfa = 0;
  int rbp = 0;
  int rbx = row_rbx_unchanged;
};

// See tests/data/unwind/rules.S; pc counts from `begin`.
const std::vector<Golden> golden{
    {32, row_rsp, 1},    {36, row_rsp, 2, 2},      {40, row_rbp, 2, 2},       {44, row_rsp, 1},
    {48, row_rbp, 2, 2}, {52, row_padding},        {64, row_rsp, 1},          {69, row_rsp, 0xffff},
    {72, row_bad},       {88, row_padding},        {96, row_deref_rsp, 3, 3}, {112, row_rsp, 1},
    {116, row_bad},      {124, row_deref_rbp, -1}, {128, row_signal},         {144, row_end},
    {160, row_fp},       {183, row_signal},  // one byte before the restorer
    {193, row_fp},       {224, row_end},           {320, row_rsp, 1},
};
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

// The rows from `begin` + from up to `begin` + to are these.
void check_rows(const Table& table, uint32_t begin, const std::vector<Golden>& expected,
                uint32_t from = 1, uint32_t to = 336) {
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

// Invariants of every table.
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
  CHECK(is_empty(read_file("/proc/self/maps")));
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

// Compares every byte of code with libdw.
namespace {

struct FreeFrame {
  void operator()(Dwarf_Frame* frame) const { std::free(frame); }
};
struct EndElf {
  void operator()(Elf* elf) const { elf_end(elf); }
};
struct EndCfi {
  void operator()(Dwarf_CFI* cfi) const { dwarf_cfi_end(cfi); }
};
using Ops = std::vector<Dwarf_Op>;

bool is_op(const Dwarf_Op& op, int atom, Dwarf_Sword number = 0, Dwarf_Sword second = 0) {
  return op.atom == atom && static_cast<Dwarf_Sword>(op.number) == number &&
         static_cast<Dwarf_Sword>(op.number2) == second;
}

// libdw's words for "saved at CFA + n".
std::optional<Dwarf_Sword> saved_at(const Ops& ops) {
  if (ops.empty() || ops[0].atom != DW_OP_call_frame_cfa) return std::nullopt;
  if (ops.size() == 1) return 0;
  if (ops.size() != 2 || ops[1].atom != DW_OP_plus_uconst) return std::nullopt;
  return static_cast<Dwarf_Sword>(ops[1].number);
}

struct Register {
  Ops ops;
  bool undefined = false;
};
Register rule_of(Dwarf_Frame* frame, int number) {
  Dwarf_Op memory[3], *ops = nullptr;
  size_t count = 0;
  REQUIRE(dwarf_frame_register(frame, number, memory, &ops, &count) == 0);
  return {Ops(ops, ops + count), count == 0 && ops == memory};
}

// Where rbx is, in the terms of row::kind; nothing if there is no rule for it, or if it is lost.
// libdw (0.188) distinguishes these two for callee-saved registers, but takes rax for rbx there.
std::optional<row_u8> expected_rbx(Dwarf_Frame* frame) {
  const Register rbx = rule_of(frame, 3);
  if (rbx.undefined) return std::nullopt;
  if (rbx.ops.empty()) return row_u8{0};
  const auto distance = saved_at(rbx.ops);
  const bool lost = !distance || *distance > -8 || *distance < -112 || *distance % 8 != 0;
  return static_cast<row_u8>((lost ? Dwarf_Sword{row_rbx_lost} : *distance / -8) << 4);
}

// Equal except for rbx.
row expected_row(Dwarf_Frame* frame, bool signal) {
  const row bad{0, 0, row_bad, 0};
  const Register rip = rule_of(frame, 16), rbp = rule_of(frame, 6);
  if (rip.undefined) return {0, 0, row_end, 0};
  if (signal) return {0, 0, row_signal, 0};
  if (saved_at(rip.ops) != -8) return bad;
  Dwarf_Op* first = nullptr;
  size_t count = 0;
  REQUIRE(dwarf_frame_cfa(frame, &first, &count) == 0);
  const Ops cfa(first, first + count);

  const bool realigned = rbp.ops.size() == 2 && is_op(rbp.ops[0], DW_OP_call_frame_cfa) &&
                         is_op(rbp.ops[1], DW_OP_breg6, 0);
  if (realigned) {
    if (cfa.size() != 2 || cfa[0].atom != DW_OP_breg6 || !is_op(cfa[1], DW_OP_deref)) return bad;
    return {0, static_cast<row_u16>(static_cast<Dwarf_Sword>(cfa[0].number) / 8), row_deref_rbp, 0};
  }
  row_u8 slot = 0;
  if (!rbp.ops.empty()) {
    const auto distance = saved_at(rbp.ops);
    if (!distance || *distance >= 0 || *distance < -2040 || *distance % 8 != 0) return bad;
    slot = static_cast<row_u8>(*distance / -8);
  }
  if (cfa.size() == 1 && cfa[0].atom == DW_OP_bregx) {
    const auto offset = static_cast<Dwarf_Sword>(cfa[0].number2);
    const row_kind kind = cfa[0].number == 7   ? row_rsp
                          : cfa[0].number == 6 ? row_rbp
                          : cfa[0].number == 3 ? row_rbx
                                               : row_bad;
    if (kind == row_bad || offset % 8 != 0 ||
        (kind == row_rsp && (offset < 0 || offset / 8 > UINT16_MAX)))
      return bad;
    return {0, static_cast<row_u16>(offset / 8), static_cast<row_u8>(kind), slot};
  }
  if (cfa.size() == 3 && cfa[0].atom == DW_OP_breg7 && is_op(cfa[1], DW_OP_deref) &&
      is_op(cfa[2], DW_OP_plus_uconst, 8))
    return {0, static_cast<row_u16>(static_cast<Dwarf_Sword>(cfa[0].number) / 8), row_deref_rsp,
            slot};
  if (cfa.size() == 9 && is_op(cfa[0], DW_OP_breg7, 8) && is_op(cfa[1], DW_OP_breg16, 0) &&
      cfa[2].atom == DW_OP_lit15 && cfa[4].atom >= DW_OP_lit10 && cfa[4].atom <= DW_OP_lit11)
    return {0, static_cast<row_u16>(cfa[4].atom - DW_OP_lit0), row_plt, slot};
  return bad;
}

struct Comparison {
  size_t frames = 0;      // rows of libdw's compared
  size_t saved = 0;       // of them, where rbx was saved
  size_t different = 0;   // of them, not ours
  size_t gap_bytes = 0;   // bytes that libdw knows nothing of
  size_t wrong_gaps = 0;  // of them, with a rule of ours that the bytes do not tell
};

// Whether a byte may belong to a nop or to padding.
bool may_pad(std::byte byte) {
  constexpr unsigned char parts[] = {0x90, 0x66, 0x2e, 0x0f, 0x1f, 0x40, 0x44, 0x80, 0x84, 0, 0xcc};
  return std::find(std::begin(parts), std::end(parts), std::to_integer<int>(byte)) !=
         std::end(parts);
}

Comparison compare(std::vector<std::byte>& image) {
  const Table table = make_table(image);
  check_sound(table);
  CHECK(table.malformed == 0);
  elf_version(EV_CURRENT);
  const std::unique_ptr<Elf, EndElf> elf(
      elf_memory(reinterpret_cast<char*>(image.data()), image.size()));
  REQUIRE(elf);
  const std::unique_ptr<Dwarf_CFI, EndCfi> cfi(dwarf_getcfi_elf(elf.get()));
  REQUIRE(cfi);
  const uint64_t entry = at<Elf64_Ehdr>(image, 0).e_entry;
  const ImageBytes bytes(image);
  const auto headers = ElfImage::open(bytes);
  std::vector<KnownCode> known = linker_code(bytes, *headers);
  if (const Elf64_Shdr* text = headers->section(".text"))
    for (KnownCode& code : startup_code(section_bytes(bytes, *text).bytes, text->sh_addr))
      known.push_back(std::move(code));
  const auto is_known = [&](uint64_t pc) {
    return std::any_of(known.begin(), known.end(),
                       [&](const KnownCode& k) { return pc >= k.start && pc < k.end; });
  };
  Comparison result;
  for (const Segment& s : table.segments) {
    for (uint64_t pc = s.vaddr; pc < s.vaddr + s.size;) {
      Dwarf_Frame* found = nullptr;
      if (dwarf_cfi_addrframe(cfi.get(), pc, &found) != 0) {
        ++result.gap_bytes;
        const row& ours = row_at(table, static_cast<uint32_t>(pc - table.base));
        const bool after_entry = pc >= entry && pc < entry + 64 && ours.kind == row_end;
        const bool padding =
            ours.kind == row_padding && may_pad(image.at(s.offset + (pc - s.vaddr)));
        // The remaining part of a function is shorter than the alignment of functions.
        const row* behind = &ours + 1;
        const bool rest = ours.kind == row_bad && behind != table.rows.data() + table.rows.size() &&
                          behind->pc - ours.pc < 16;
        if (!is_known(pc) && !after_entry && !padding && !rest && ours.kind != row_fp &&
            ours.kind != row_signal)
          ++result.wrong_gaps;
        ++pc;
        continue;
      }
      const std::unique_ptr<Dwarf_Frame, FreeFrame> frame(found);
      Dwarf_Addr start = 0, end = 0;
      bool signal = false;
      REQUIRE(dwarf_frame_info(frame.get(), &start, &end, &signal) == 16);
      REQUIRE(end > pc);
      row expected = expected_row(frame.get(), signal);
      const auto first = static_cast<uint32_t>(pc - table.base);
      const auto last = static_cast<uint32_t>(end - 1 - table.base);
      const row &ours = row_at(table, first), &until = row_at(table, last);
      if (may_save_rbx(expected.kind)) {
        const int slot = ours.kind >> 4;
        const bool unsaid = slot == row_rbx_unchanged || slot == row_rbx_lost;
        const auto rbx = expected_rbx(frame.get());
        if (rbx || unsaid)
          expected.kind |= rbx.value_or(static_cast<row_u8>(ours.kind & ~row_kind_mask));
        if (rbx && *rbx != 0) ++result.saved;
      }
      ++result.frames;
      if (&ours != &until || ours.kind != expected.kind || ours.cfa != expected.cfa ||
          ours.rbp != expected.rbp) {
        ++result.different;
        if (result.different <= 5)
          MESSAGE("at ", pc, ": ", int{ours.kind}, " ", ours.cfa, " ", int{ours.rbp},
                  ", libdw: ", int{expected.kind}, " ", expected.cfa, " ", int{expected.rbp});
      }
      pc = end;
    }
  }
  MESSAGE(result.frames, " frames, ", result.saved, " with rbx, ", table.rows.size(), " rows, ",
          result.gap_bytes, " bytes of gaps");
  return result;
}

}  // namespace

TEST_CASE("libdw reads the same out of libraries") {
  for (const char* name : {"libc.so.6", "libstdc++.so.6", "libcrypto.so.3"}) {
    CAPTURE(std::string(name));
    void* library = ::dlopen(name, RTLD_LAZY);
    const char* known = library == nullptr                      ? nullptr
                        : std::strstr(name, "libc.") != nullptr ? "malloc"
                        : std::strstr(name, "stdc") != nullptr  ? "_ZSt9terminatev"
                                                                : "CRYPTO_malloc";
    Dl_info info{};
    if (library == nullptr || ::dladdr(::dlsym(library, known), &info) == 0) {
      MESSAGE(name, " is not installed: not compared");
      continue;
    }
    auto image = read_file(info.dli_fname);
    const Comparison result = compare(image);
    CHECK(result.frames > 10'000);
    CHECK(result.saved > 1'000);
    CHECK(result.different == 0);
    CHECK(result.wrong_gaps == 0);
  }
}

// Rows relative to rbx exist for its resolver of functions.
TEST_CASE("libdw reads the same out of the dynamic linker") {
  auto image = read_file("/lib64/ld-linux-x86-64.so.2");
  if (image.empty()) {
    MESSAGE("it is not glibc's: not compared");
    return;
  }
  CHECK(compare(image).different == 0);
  const Table table = make_table(image);
  CHECK(std::any_of(table.rows.begin(), table.rows.end(), [](const row& r) {
    return (r.kind & row_kind_mask) == row_rbx && r.kind >> 4 != row_rbx_unchanged;
  }));
}

TEST_CASE("libdw reads the same out of rules.S") {
  auto image = built("library.so");
  const Comparison result = compare(image);
  CHECK(result.frames > 20);
  CHECK(result.saved == 3);
  CHECK(result.different == 0);
  CHECK(result.wrong_gaps == 0);
}

TEST_CASE("libdw reads the same out of the vdso") {
  const auto* start = reinterpret_cast<const std::byte*>(::getauxval(AT_SYSINFO_EHDR));
  if (start == nullptr) {
    MESSAGE("no vdso here: not compared");
    return;
  }
  // Its section headers come last.
  Elf64_Ehdr header;
  std::memcpy(&header, start, sizeof(header));
  const uint64_t size = header.e_shoff + uint64_t{header.e_shnum} * sizeof(Elf64_Shdr);
  std::vector<std::byte> image(start, start + size);
  const Comparison result = compare(image);
  CHECK(result.frames > 4);
  CHECK(result.different == 0);
}
