// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/frame_program.h"

#include <doctest/doctest.h>
#include <dwarf.h>

#include "tests/probes/unwind/frame_fixture.h"

using namespace memflame;                   // NOLINT(google-build-using-namespace): tests only
using namespace memflame::unwind;           // NOLINT(google-build-using-namespace): tests only
using namespace memflame::unwind::fixture;  // NOLINT(google-build-using-namespace): tests only

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
    head.put(code_begin).put(uint64_t{0x20000}).put('\0').add(program.bytes);
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
    head.put(code_begin).put(uint64_t{64}).put('\0');
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
