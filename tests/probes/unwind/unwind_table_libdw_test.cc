// SPDX-License-Identifier: BSD-2-Clause
// Compares every byte of code with libdw.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <libelf.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <vector>

#include "core/elf/image.h"
#include "probes/unwind/frame_sections.h"
#include "probes/unwind/linker_code.h"
#include "probes/unwind/startup_code.h"
#include "probes/unwind/table.h"
#include "tests/probes/unwind/table_fixture.h"

using namespace memflame;                   // NOLINT(google-build-using-namespace): tests only
using namespace memflame::unwind;           // NOLINT(google-build-using-namespace): tests only
using namespace memflame::unwind::fixture;  // NOLINT(google-build-using-namespace): tests only

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
    auto image = read_bytes(info.dli_fname);
    const Comparison result = compare(image);
    CHECK(result.frames > 10'000);
    CHECK(result.saved > 1'000);
    CHECK(result.different == 0);
    CHECK(result.wrong_gaps == 0);
  }
}

// Rows relative to rbx exist for its resolver of functions.
TEST_CASE("libdw reads the same out of the dynamic linker") {
  auto image = read_bytes("/lib64/ld-linux-x86-64.so.2");
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
