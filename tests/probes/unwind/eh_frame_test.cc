// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/eh_frame.h"

#include <doctest/doctest.h>
#include <dwarf.h>

#include <initializer_list>
#include <string_view>

#include "probes/unwind/frame_program.h"

using namespace memflame;          // NOLINT(google-build-using-namespace): tests only
using namespace memflame::unwind;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr uint64_t code_at = 0x401000, frames_at = 0x500000;
constexpr uint8_t rbx = 3, rbp = 6, rsp = 7, rip = 16;

struct Builder {
  std::vector<std::byte> bytes;

  template <typename T>
  Builder& put(T value) {
    const auto* raw = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), raw, raw + sizeof(T));
    return *this;
  }
  Builder& raw(std::initializer_list<int> values) {
    for (const int v : values) put(static_cast<uint8_t>(v));
    return *this;
  }
  Builder& text(std::string_view value) {
    for (const char c : value) put(c);
    return put('\0');
  }
  Builder& add(const std::vector<std::byte>& more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
    return *this;
  }
};

using Raw = std::initializer_list<int>;

// CFA = rsp + 8, return address at CFA - 8: what every x86-64 CIE begins with.
constexpr Raw usual{DW_CFA_def_cfa, rsp, 8, DW_CFA_offset | rip, 1};

std::vector<std::byte> cie(Raw program = usual, std::string_view augmentation = "zR",
                           Raw data = {DW_EH_PE_absptr}, int version = 1) {
  Builder body;
  body.put(uint32_t{0}).raw({version}).text(augmentation);
  if (version == 4) body.raw({8, 0});
  body.raw({1, 0x78, rip});  // code alignment 1, data alignment -8, return address register
  if (augmentation.starts_with('z')) body.raw({static_cast<int>(data.size())});
  body.raw(data).raw(program);
  return Builder().put(static_cast<uint32_t>(body.bytes.size())).add(body.bytes).bytes;
}

// Together with the bytes that they were read from.
struct Read : Frames {
  std::vector<std::byte> bytes;
};

struct Section {
  Builder out;

  explicit Section(const std::vector<std::byte>& first = cie()) { out.add(first); }

  // An FDE of the CIE at `owner`, with the bytes between the CIE pointer and the program.
  Section& fde(const std::vector<std::byte>& head, Raw program, uint64_t owner = 0) {
    Builder body;
    body.put(static_cast<uint32_t>(out.bytes.size() + 4 - owner)).add(head).raw(program);
    out.put(static_cast<uint32_t>(body.bytes.size())).add(body.bytes);
    return *this;
  }
  Section& fde(Raw program, uint64_t size = 64) {
    return fde(Builder().put(code_at).put(size).put('\0').bytes, program);
  }
  Read read(bool ends_at_zero = false) const {
    Read frames;
    frames.bytes = out.bytes;
    FrameSection section{frames.bytes, frames_at};
    section.ends_at_zero = ends_at_zero;
    section.text = 0x400000;
    section.data = 0x600000;
    read_frames(section, frames);
    return frames;
  }
};

std::vector<row> rows_of(const Frames& frames, size_t index = 0) {
  REQUIRE(frames.fdes.size() > index);
  std::vector<row> rows;
  REQUIRE(fde_rows(frames, frames.fdes[index], rows));
  return rows;
}
std::vector<row> rows_of(Raw program) { return rows_of(Section().fde(program).read()); }

bool malformed(Raw program) {
  const Section section = Section().fde(program);
  const Read frames = section.read();
  REQUIRE(frames.fdes.size() == 1);
  std::vector<row> rows;
  return !fde_rows(frames, frames.fdes[0], rows);
}

bool is(const row& r, uint32_t pc, int kind, int cfa, int saved = 0) {
  return r.pc == pc && r.kind == kind && static_cast<int16_t>(r.cfa) == static_cast<int16_t>(cfa) &&
         r.rbp == saved;
}

// The only row of a program that never advances.
bool only(Raw program, int kind, int cfa = 0, int saved = 0) {
  const auto rows = rows_of(program);
  return rows.size() == 1 && is(rows[0], 0, kind, cfa, saved);
}

}  // namespace

TEST_CASE("what a function does with its frame becomes rows") {
  const auto rows =
      rows_of({DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16, DW_CFA_offset | rbp, 2,
               DW_CFA_advance_loc1, 3, DW_CFA_def_cfa_register, rbp, DW_CFA_advance_loc2, 20, 0,
               DW_CFA_def_cfa, rsp, 8, DW_CFA_restore | rbp});
  REQUIRE(rows.size() == 4);
  CHECK(is(rows[0], 0, row_rsp, 1));
  CHECK(is(rows[1], 1, row_rsp, 2, 2));
  CHECK(is(rows[2], 4, row_rbp, 2, 2));
  CHECK(is(rows[3], 24, row_rsp, 1));
}

TEST_CASE("each way to advance") {
  const auto at = [](Raw advance) {
    Builder program;
    program.raw(advance).raw({DW_CFA_def_cfa_offset, 16});
    Section section;
    Builder head;
    head.put(code_at).put(uint64_t{0x20000}).put('\0').add(program.bytes);
    const auto rows = rows_of(section.fde(head.bytes, {}).read());
    REQUIRE(rows.size() == 2);
    return rows[1].pc;
  };
  CHECK(at({DW_CFA_advance_loc | 63}) == 63);
  CHECK(at({DW_CFA_advance_loc1, 200}) == 200);
  CHECK(at({DW_CFA_advance_loc2, 0x34, 0x12}) == 0x1234);
  CHECK(at({DW_CFA_advance_loc4, 0x34, 0x12, 1, 0}) == 0x11234);
  CHECK(at({0x1d, 0x34, 0x12, 1, 0, 0, 0, 0, 0}) == 0x11234);
  CHECK(at({DW_CFA_set_loc, 0x10, 0x10, 0x40, 0, 0, 0, 0, 0}) == 0x10);
}

TEST_CASE("what does not change a row makes none, and the code's end ends the program") {
  CHECK(only({DW_CFA_nop, DW_CFA_advance_loc | 4, DW_CFA_GNU_args_size, 0x90, 1,
              DW_CFA_advance_loc | 4, DW_CFA_offset | 13, 2, DW_CFA_undefined, 12},
             row_rsp, 1));
  CHECK(only({DW_CFA_advance_loc1, 64, DW_CFA_def_cfa_offset, 16}, row_rsp, 1));
  // Two rules at one address: the last counts.
  CHECK(only({DW_CFA_def_cfa_offset, 16, DW_CFA_advance_loc | 0, DW_CFA_def_cfa_offset, 24},
             row_rsp, 3));
}

TEST_CASE("where the CFA is") {
  CHECK(only({DW_CFA_def_cfa_sf, rbp, 0x7e}, row_rbp, 2));    // -2 * -8
  CHECK(only({DW_CFA_def_cfa_offset_sf, 0x7d}, row_rsp, 3));  // -3 * -8
  CHECK(only({DW_CFA_def_cfa_sf, rbp, 1}, row_rbp, -1));      // below rbp
  CHECK(only({DW_CFA_def_cfa_sf, rsp, 1}, row_bad));          // below rsp
  CHECK(only({DW_CFA_def_cfa, 10, 8}, row_bad));              // r10
  CHECK(only({DW_CFA_def_cfa_offset, 12}, row_bad));          // no multiple of 8
  CHECK(only({DW_CFA_def_cfa_offset, 0xf8, 0xff, 0x1f}, row_rsp, 0xffff));
  CHECK(only({DW_CFA_def_cfa_offset, 0x80, 0x80, 0x20}, row_bad));  // 8 * 0x10000
  CHECK(only({DW_CFA_def_cfa, rbp, 0xf8, 0xff, 0x0f}, row_rbp, 0x7fff));
  CHECK(only({DW_CFA_def_cfa, rbp, 0x80, 0x80, 0x10}, row_bad));  // 8 * 0x8000
}

TEST_CASE("where rbp is") {
  CHECK(only({DW_CFA_offset_extended, rbp, 3}, row_rsp, 1, 3));
  CHECK(only({DW_CFA_offset_extended_sf, rbp, 4}, row_rsp, 1, 4));
  CHECK(only({DW_CFA_GNU_negative_offset_extended, rbp, 4}, row_bad));  // above the CFA
  CHECK(only({DW_CFA_offset_extended_sf, rbp, 0x7c}, row_bad));
  CHECK(only({DW_CFA_offset | rbp, 0}, row_bad));  // at the CFA
  CHECK(only({DW_CFA_offset_extended, rbp, 0xff, 1}, row_rsp, 1, 255));
  CHECK(only({DW_CFA_offset_extended, rbp, 0x80, 2}, row_bad));
  CHECK(only({DW_CFA_offset | rbp, 2, DW_CFA_restore_extended, rbp}, row_rsp, 1));
  CHECK(only({DW_CFA_offset | rbp, 2, DW_CFA_same_value, rbp}, row_rsp, 1));
  CHECK(only({DW_CFA_offset | rbp, 2, DW_CFA_undefined, rbp}, row_rsp, 1));
  CHECK(only({DW_CFA_register, rbp, rbp}, row_rsp, 1));
  CHECK(only({DW_CFA_register, rbp, 3}, row_bad));
  CHECK(only({DW_CFA_val_offset, rbp, 2}, row_bad));
  CHECK(only({DW_CFA_val_offset_sf, rbp, 0x7e}, row_bad));
  CHECK(only({DW_CFA_val_expression, rbp, 2, DW_OP_breg0 + rsp, 8}, row_bad));
  CHECK(only({DW_CFA_expression, rbp, 2, DW_OP_breg0 + rbp, 0}, row_bad));  // CFA not realigned
}

TEST_CASE("where rbx is") {
  constexpr int lost = row_rbx_lost << 4;
  CHECK(only({DW_CFA_offset | rbx, 1}, row_rsp | 1 << 4, 1));
  CHECK(only({DW_CFA_offset | rbx, 14}, row_rsp | 14 << 4, 1));
  CHECK(only({DW_CFA_offset | rbx, 15}, row_rsp | lost, 1));
  CHECK(only({DW_CFA_offset | rbx, 0}, row_rsp | lost, 1));  // at the CFA
  CHECK(only({DW_CFA_offset_extended_sf, rbx, 2}, row_rsp | 2 << 4, 1));
  CHECK(only({DW_CFA_offset_extended_sf, rbx, 0x7e}, row_rsp | lost, 1));  // above the CFA
  CHECK(only({DW_CFA_offset | rbx, 2, DW_CFA_restore | rbx}, row_rsp, 1));
  CHECK(only({DW_CFA_offset | rbx, 2, DW_CFA_same_value, rbx}, row_rsp, 1));
  CHECK(only({DW_CFA_register, rbx, rbx}, row_rsp, 1));
  CHECK(only({DW_CFA_register, rbx, 12}, row_rsp | lost, 1));
  CHECK(only({DW_CFA_undefined, rbx}, row_rsp | lost, 1));
  CHECK(only({DW_CFA_val_offset, rbx, 2}, row_rsp | lost, 1));
  CHECK(only({DW_CFA_val_expression, rbx, 2, DW_OP_breg0 + rsp, 8}, row_rsp | lost, 1));
  CHECK(only({DW_CFA_expression, rbx, 2, DW_OP_breg0 + rsp, 8}, row_rsp | lost, 1));
  // The same in the other kinds of rows.
  CHECK(only({DW_CFA_def_cfa, rbp, 16, DW_CFA_offset | rbp, 2, DW_CFA_offset | rbx, 3},
             row_rbp | 3 << 4, 2, 2));
  CHECK(only({DW_CFA_def_cfa_expression, 5, 0x77, 24, 0x06, 0x23, 8, DW_CFA_offset | rbx, 3},
             row_deref_rsp | 3 << 4, 3));
  CHECK(only({DW_CFA_expression, rbp, 2, 0x76, 0, DW_CFA_def_cfa_expression, 3, 0x76, 0x78, 0x06,
              DW_CFA_offset | rbx, 4},
             row_deref_rbp | 4 << 4, -1));
  CHECK(only({DW_CFA_offset | rbx, 2, DW_CFA_undefined, rip}, row_end));
  CHECK(only({DW_CFA_offset | rbx, 2, DW_CFA_def_cfa, 10, 8}, row_bad));
  // glibc's resolver finds its frame by rbx itself.
  CHECK(only({DW_CFA_offset | rbx, 4, DW_CFA_def_cfa, rbx, 32}, row_rbx | 4 << 4, 4));
  CHECK(only({DW_CFA_def_cfa_sf, rbx, 1, DW_CFA_offset | rbp, 2}, row_rbx, -1, 2));
  CHECK(only({DW_CFA_def_cfa, rbx, 12}, row_bad));
  CHECK(only({DW_CFA_def_cfa, rbx, 0x80, 0x80, 0x10}, row_bad));  // 8 * 0x8000
  // If only rbx changes, it gets a row of its own.
  const auto rows = rows_of({DW_CFA_advance_loc | 4, DW_CFA_offset | rbx, 3});
  REQUIRE(rows.size() == 2);
  CHECK(is(rows[0], 0, row_rsp, 1));
  CHECK(is(rows[1], 4, row_rsp | 3 << 4, 1));
}

TEST_CASE("where the return address is") {
  CHECK(only({DW_CFA_undefined, rip}, row_end));
  CHECK(only({DW_CFA_offset | rip, 2}, row_bad));
  CHECK(only({DW_CFA_same_value, rip}, row_bad));
  CHECK(only({DW_CFA_register, rip, 0}, row_bad));
  CHECK(only({DW_CFA_expression, rip, 2, DW_OP_breg0 + rsp, 0}, row_bad));
  CHECK(only({DW_CFA_undefined, rip, DW_CFA_restore | rip}, row_rsp, 1));
  // No rule for it at all.
  const auto rows = rows_of(Section(cie({DW_CFA_def_cfa, rsp, 8})).fde({DW_CFA_nop}).read());
  REQUIRE(rows.size() == 1);
  CHECK(is(rows[0], 0, row_bad, 0));
}

TEST_CASE("states are remembered, to a depth") {
  const auto rows =
      rows_of({DW_CFA_remember_state, DW_CFA_def_cfa_offset, 32, DW_CFA_remember_state,
               DW_CFA_advance_loc | 1, DW_CFA_def_cfa, rbp, 16, DW_CFA_advance_loc | 1,
               DW_CFA_restore_state, DW_CFA_advance_loc | 1, DW_CFA_restore_state});
  REQUIRE(rows.size() == 4);
  CHECK(is(rows[0], 0, row_rsp, 4));
  CHECK(is(rows[1], 1, row_rbp, 2));
  CHECK(is(rows[2], 2, row_rsp, 4));
  CHECK(is(rows[3], 3, row_rsp, 1));
  CHECK(malformed({DW_CFA_restore_state}));
  const auto remember = [](size_t times) {
    Builder head;
    head.put(code_at).put(uint64_t{64}).put('\0');
    for (size_t i = 0; i < times; ++i) head.put(uint8_t{DW_CFA_remember_state});
    const Section section = Section().fde(head.bytes, {});
    const Read frames = section.read();
    std::vector<row> made;
    return fde_rows(frames, frames.fdes.at(0), made);
  };
  CHECK(remember(32));
  CHECK(!remember(33));
}

TEST_CASE("linkage tables, as GNU ld writes them and by meaning") {
  CHECK(only(
      {DW_CFA_def_cfa_expression, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22},
      row_plt, 11));
  CHECK(only(
      {DW_CFA_def_cfa_expression, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3a, 0x2a, 0x33, 0x24, 0x22},
      row_plt, 10));
  CHECK(only({DW_CFA_def_cfa_expression, 14, 0x77, 8, 0x80, 0, 0x08, 15, 0x1a, 0x08, 5, 0x2a, 0x08,
              3, 0x24, 0x22},
             row_plt, 5));
  for (const Raw other :
       {Raw{DW_CFA_def_cfa_expression, 11, 0x77, 16, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24,
            0x22},  // rsp + 16
        Raw{DW_CFA_def_cfa_expression, 11, 0x77, 8, 0x80, 0, 0x3e, 0x1a, 0x3b, 0x2a, 0x33, 0x24,
            0x22},  // & 14
        Raw{DW_CFA_def_cfa_expression, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x40, 0x2a, 0x33, 0x24,
            0x22},  // >= 16
        Raw{DW_CFA_def_cfa_expression, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x32, 0x24,
            0x22},  // << 2
        Raw{DW_CFA_def_cfa_expression, 12, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24,
            0x22, 0x22},  // and more
        Raw{DW_CFA_def_cfa_expression, 10, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24}})
    CHECK(only(other, row_bad));
}

TEST_CASE("frames whose CFA is in memory") {
  CHECK(only({DW_CFA_def_cfa_expression, 5, 0x77, 24, 0x06, 0x23, 8, DW_CFA_offset | rbp, 3},
             row_deref_rsp, 3, 3));
  CHECK(only({DW_CFA_def_cfa_expression, 5, 0x77, 0x78, 0x06, 0x23, 8}, row_deref_rsp, -1));
  CHECK(only({DW_CFA_def_cfa_expression, 5, 0x77, 20, 0x06, 0x23, 8}, row_bad));
  CHECK(only({DW_CFA_def_cfa_expression, 5, 0x77, 24, 0x06, 0x23, 16}, row_bad));
  CHECK(only({DW_CFA_def_cfa_expression, 3, 0x77, 24, 0x06}, row_bad));
  CHECK(only({DW_CFA_expression, rbp, 2, 0x76, 0, DW_CFA_def_cfa_expression, 3, 0x76, 0x78, 0x06},
             row_deref_rbp, -1));
  // The same CFA, but rbp in an unusual place.
  CHECK(only({DW_CFA_def_cfa_expression, 3, 0x76, 0x78, 0x06}, row_bad));
  CHECK(only({DW_CFA_expression, rbp, 2, 0x76, 8, DW_CFA_def_cfa_expression, 3, 0x76, 0x78, 0x06},
             row_bad));
  CHECK(only({DW_CFA_def_cfa_expression, 0}, row_bad));
  // Back to a register; without an offset of its own, the last one counts.
  CHECK(only({DW_CFA_def_cfa_offset, 56, DW_CFA_def_cfa_expression, 5, 0x77, 24, 0x06, 0x23, 56,
              DW_CFA_def_cfa_register, rbp},
             row_rbp, 7));
  CHECK(
      only({DW_CFA_def_cfa_expression, 3, 0x76, 0x78, 0x06, DW_CFA_def_cfa, rsp, 16}, row_rsp, 2));
}

TEST_CASE("signal frames") {
  const auto signal = [](Raw program) {
    const auto rows = rows_of(Section(cie(usual, "zRS")).fde(program).read());
    REQUIRE(rows.size() == 1);
    return rows[0].kind;
  };
  // The saved rip is at rsp + 168: glibc uses an expression, others an offset.
  CHECK(signal({DW_CFA_def_cfa_expression, 4, 0x77, 0xa0, 1, 0x06, DW_CFA_expression, rip, 3, 0x77,
                0xa8, 1}) == row_signal);
  CHECK(signal({DW_CFA_def_cfa, rsp, 0xb0, 1, DW_CFA_offset | rip, 1}) == row_signal);
  // Marked as a signal frame, but different.
  CHECK(signal({DW_CFA_nop}) == row_bad);
  CHECK(signal({DW_CFA_undefined, rip}) == row_end);
  CHECK(signal({DW_CFA_expression, rip, 3, 0x77, 0xb0, 1}) == row_bad);
}

TEST_CASE("programs that cannot be understood") {
  CHECK(malformed({0x3f}));                                       // no such instruction
  CHECK(malformed({0x2d}));                                       // another processor's
  CHECK(malformed({DW_CFA_def_cfa}));                             // its end is missing
  CHECK(malformed({DW_CFA_def_cfa_expression, 5, 0x77}));         // truncated
  CHECK(malformed({DW_CFA_advance_loc4, 1, 0}));                  // truncated
  CHECK(malformed({DW_CFA_set_loc, 0, 0, 0x40, 0, 0, 0, 0, 0}));  // backwards
  CHECK(malformed({DW_CFA_advance_loc | 8, DW_CFA_set_loc, 0, 0x10, 0x40, 0, 0, 0, 0, 0}));
  // An offset without a register, and a register without an earlier offset.
  CHECK(malformed({DW_CFA_def_cfa_expression, 1, 0x06, DW_CFA_def_cfa_offset, 16}));
  const Section section(
      cie({DW_CFA_def_cfa_expression, 1, 0x06, DW_CFA_def_cfa_register, rbp, DW_CFA_nop}));
  CHECK(section.read().malformed == 1);
}

TEST_CASE("each encoding of addresses") {
  struct Case {
    int encoding;
    Builder head;  // begin and size of the code
  };
  // The address stands 8 bytes into the FDE, which follows the CIE.
  const uint64_t at = frames_at + cie().size() + 8;
  const auto near = static_cast<uint64_t>(code_at - at);
  Case cases[] = {
      {DW_EH_PE_absptr, Builder().put(code_at).put(uint64_t{64})},
      {DW_EH_PE_udata8, Builder().put(code_at).put(uint64_t{64})},
      {DW_EH_PE_udata4, Builder().put(uint32_t{code_at}).put(uint32_t{64})},
      {DW_EH_PE_uleb128, Builder().raw({0x80, 0xa0, 0x80, 2, 64})},
      {DW_EH_PE_sleb128, Builder().raw({0x80, 0xa0, 0x80, 2, 0xc0, 0})},
      {DW_EH_PE_pcrel | DW_EH_PE_absptr, Builder().put(near).put(uint64_t{64})},
      {DW_EH_PE_pcrel | DW_EH_PE_sdata8, Builder().put(near).put(uint64_t{64})},
      {DW_EH_PE_pcrel | DW_EH_PE_sdata4,
       Builder().put(static_cast<uint32_t>(near)).put(uint32_t{64})},
      {DW_EH_PE_textrel | DW_EH_PE_udata2, Builder().put(uint16_t{0x1000}).put(uint16_t{64})},
      {DW_EH_PE_textrel | DW_EH_PE_sdata2, Builder().put(uint16_t{0x1000}).put(uint16_t{64})},
      {DW_EH_PE_datarel | DW_EH_PE_sdata4,
       Builder().put(static_cast<uint32_t>(code_at - 0x600000)).put(uint32_t{64})},
  };
  for (const Case& c : cases) {
    CAPTURE(c.encoding);
    Builder head = c.head;
    head.put('\0');
    const Read frames =
        Section(cie(usual, "zR", {c.encoding})).fde(head.bytes, {DW_CFA_def_cfa_offset, 16}).read();
    REQUIRE(frames.malformed == 0);
    REQUIRE(frames.fdes.size() == 1);
    CHECK(frames.fdes[0].start == code_at);
    CHECK(frames.fdes[0].size == 64);
    CHECK(is(rows_of(frames).at(0), 0, row_rsp, 2));
  }
  // Aligned to 8 from 3 bytes before.
  const Read aligned = [] {
    Section section(cie(usual, "zR", {DW_EH_PE_aligned}));
    const uint64_t unaligned = (frames_at + section.out.bytes.size() + 8) % 8;
    Builder head;
    for (uint64_t i = unaligned; i % 8 != 0; ++i) head.put('\0');
    head.put(code_at).put(uint64_t{64}).put('\0');
    return section.fde(head.bytes, {}).read();
  }();
  REQUIRE(aligned.fdes.size() == 1);
  CHECK(aligned.fdes[0].start == code_at);
  // Indirect, relative to a function, omitted, and an unknown format.
  for (const int encoding : {0x9b, 0x40, 0xff, 0x05}) {
    CAPTURE(encoding);
    const Read frames = Section(cie(usual, "zR", {encoding})).fde({}).read();
    CHECK(frames.fdes.empty());
    CHECK(frames.malformed == 1);
  }
}

TEST_CASE("each augmentation") {
  // A personality, indirect and pc-relative, and the encoding of exception tables.
  const Read cpp = Section(cie(usual, "zPLR", {0x9b, 1, 2, 3, 4, 0x1b, DW_EH_PE_absptr}))
                       .fde(Builder().put(code_at).put(uint64_t{64}).raw({4, 9, 9, 9, 9}).bytes,
                            {DW_CFA_def_cfa_offset, 16})
                       .read();
  CHECK(cpp.malformed == 0);
  CHECK(is(rows_of(cpp).at(0), 0, row_rsp, 2));
  CHECK(Section(cie(usual, "zRB")).fde({}).read().fdes.size() == 1);
  // Without a personality.
  CHECK(Section(cie(usual, "zPR", {DW_EH_PE_omit, DW_EH_PE_absptr})).fde({}).read().fdes.size() ==
        1);
  const Builder plain = Builder().put(code_at).put(uint64_t{64});
  CHECK(Section(cie(usual, "", {})).fde(plain.bytes, {}).read().fdes.size() == 1);
  CHECK(Section(cie(usual, "S", {})).fde(plain.bytes, {}).read().cies.at(0).signal);
  // gcc 2: a pointer follows the string at once.
  Builder old;
  old.put(uint32_t{0}).raw({1}).text("eh").put(uint64_t{1234}).raw({1, 0x78, rip}).raw(usual);
  const auto old_cie = Builder().put(static_cast<uint32_t>(old.bytes.size())).add(old.bytes).bytes;
  CHECK(is(rows_of(Section(old_cie).fde(plain.bytes, {}).read()).at(0), 0, row_rsp, 1));

  for (const std::string_view unknown : {"zX", "R", "ehz", "x"}) {
    CAPTURE(unknown);
    const Read frames = Section(cie(usual, unknown)).fde({}).read();
    CHECK(frames.fdes.empty());
    CHECK(frames.malformed == 2);  // the CIE, and the FDE that needs it
  }
}

TEST_CASE("each version") {
  for (const int version : {1, 3, 4})
    CHECK(Section(cie(usual, "zR", {0}, version)).fde({}).read().fdes.size() == 1);
  for (const int version : {0, 2, 5})
    CHECK(Section(cie(usual, "zR", {0}, version)).fde({}).read().malformed == 2);
}

TEST_CASE("malformed entries are left out and counted, the others are read") {
  // The place of the FDE's code is known.
  const auto broken = [](const Section& section) {
    const Read frames = section.read();
    std::vector<row> rows;
    return frames.malformed == 1 && frames.fdes.size() == 1 && frames.fdes[0].start == code_at &&
           frames.fdes[0].size == 64 && !fde_rows(frames, frames.fdes[0], rows);
  };
  const auto good = [](Section& section) {
    section.fde(Builder().put(code_at + 256).put(uint64_t{16}).put('\0').bytes, {});
  };
  SUBCASE("an FDE cut short") {
    Section section;
    section.fde(Builder().put(uint32_t{0}).bytes, {});
    good(section);
    const Read frames = section.read();
    CHECK(frames.malformed == 1);
    REQUIRE(frames.fdes.size() == 1);
    CHECK(frames.fdes[0].start == code_at + 256);
  }
  SUBCASE("too short for a pointer to its CIE") {
    Section section;
    section.out.put(uint32_t{2}).raw({1, 2});
    good(section);
    CHECK(section.read().malformed == 1);
    CHECK(section.read().fdes.size() == 1);
  }
  SUBCASE("an FDE of a CIE that is none, or outside") {
    Section section;
    const uint64_t first = section.out.bytes.size();
    section.fde({});
    section.fde(Builder().put(code_at).put(uint64_t{16}).put('\0').bytes, {}, first);
    section.fde(Builder().put(code_at).put(uint64_t{16}).put('\0').bytes, {}, uint64_t{0} - 99);
    good(section);
    CHECK(section.read().malformed == 2);
    CHECK(section.read().fdes.size() == 2);
  }
  SUBCASE("a CIE whose program advances, or remembers without end") {
    CHECK(broken(Section(cie({DW_CFA_advance_loc | 1})).fde({})));
    CHECK(broken(Section(cie({DW_CFA_restore_state})).fde({})));
  }
  SUBCASE("a CIE with more than is understood, behind what is") {
    CHECK(broken(Section(cie(usual, "zRX")).fde({})));
  }
  SUBCASE("an FDE whose augmentation is longer than itself") {
    const Read frames =
        Section().fde(Builder().put(code_at).put(uint64_t{64}).put('\x20').bytes, {}).read();
    REQUIRE(frames.fdes.size() == 1);
    CHECK(frames.fdes[0].broken);
  }
  SUBCASE("a size that is negative, or more than a table can hold") {
    const auto sized = [](uint64_t size) { return Section().fde({}, size).read(); };
    CHECK(sized(UINT32_MAX).malformed == 0);
    CHECK(sized(uint64_t{1} << 32).malformed == 1);
    CHECK(sized(~uint64_t{0}).malformed == 1);
  }
  SUBCASE("a length beyond the end") {
    Section section;
    section.fde({});
    section.out.put(uint32_t{1000}).put(uint64_t{0});
    CHECK(section.read().malformed == 1);
    CHECK(section.read().fdes.size() == 1);
  }
  SUBCASE("a CIE beyond any sensible size") {
    std::vector<std::byte> large = cie();
    large.resize(2048);  // DW_CFA_nop
    const uint32_t length = 2044;
    std::memcpy(large.data(), &length, sizeof(length));
    CHECK(Section(large).fde({}).read().malformed == 2);
  }
}

TEST_CASE("an entry of length zero ends a section of unknown size, and no other") {
  Section section;
  section.fde({});
  section.out.put(uint32_t{0});
  section.fde({});
  CHECK(section.read(false).fdes.size() == 2);
  CHECK(section.read(true).fdes.size() == 1);
  CHECK(section.read(true).malformed == 0);
}

TEST_CASE("lengths of 64 bits") {
  Section section;
  const std::vector<std::byte> first = section.out.bytes;
  Builder body;
  body.put(static_cast<uint32_t>(first.size() + 12));  // to the CIE, from here
  body.put(code_at).put(uint64_t{64}).put('\0');
  section.out.put(UINT32_MAX).put(uint64_t{body.bytes.size()}).add(body.bytes);
  CHECK(section.read().malformed == 0);
  CHECK(rows_of(section.read()).size() == 1);
}

TEST_CASE(".debug_frame: CIEs are found by offset, also behind their FDEs") {
  const auto read = [](const Builder& out) {
    Frames frames;
    FrameSection section{out.bytes, 0};
    section.debug = true;
    read_frames(section, frames);
    CHECK(frames.malformed == 0);
    REQUIRE(frames.fdes.size() == 1);
    CHECK(frames.fdes[0].start == code_at);
    std::vector<row> rows;
    REQUIRE(fde_rows(frames, frames.fdes[0], rows));
    REQUIRE(rows.size() == 1);
    CHECK(is(rows[0], 0, row_rsp, 2));
  };
  Builder head;
  head.put(UINT32_MAX).raw({3, 0, 1, 0x78, rip, DW_CFA_def_cfa, rsp, 16, DW_CFA_offset | rip, 1});
  Builder fde_body;
  fde_body.put(code_at).put(uint64_t{64});
  Builder out;
  const auto fde_size = static_cast<uint32_t>(4 + fde_body.bytes.size());
  out.put(fde_size).put(uint32_t{fde_size + 4}).add(fde_body.bytes);
  out.put(static_cast<uint32_t>(head.bytes.size())).add(head.bytes);
  read(out);

  Builder wide_head;
  wide_head.put(UINT64_MAX).raw({4, 0, 8, 0, 1, 0x78, rip});
  wide_head.raw({DW_CFA_def_cfa, rsp, 16, DW_CFA_offset | rip, 1});
  Builder wide;
  wide.put(UINT32_MAX).put(uint64_t{wide_head.bytes.size()}).add(wide_head.bytes);
  wide.put(UINT32_MAX).put(uint64_t{8 + fde_body.bytes.size()}).put(uint64_t{0});
  wide.add(fde_body.bytes);
  read(wide);
}

TEST_CASE("any beginning of a section can be read") {
  Section section(cie(usual, "zPLR", {0x9b, 1, 2, 3, 4, 0x1b, DW_EH_PE_absptr}));
  section.fde({DW_CFA_advance_loc1, 3, DW_CFA_def_cfa_expression, 3, 0x76, 0x78, 0x06});
  const std::vector<std::byte> whole = section.out.bytes;
  for (size_t size = 0; size < whole.size(); ++size) {
    section.out.bytes.assign(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    const Read frames = section.read();
    CHECK(frames.fdes.empty());
    CHECK((size < 4 || frames.malformed > 0 || frames.cies.size() == 1));
  }
}
