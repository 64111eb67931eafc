// SPDX-License-Identifier: BSD-2-Clause
#include <dwarf.h>

#include "probes/unwind/frame_program.h"
#include "probes/unwind/table.h"

namespace memflame::unwind {
namespace {

constexpr int64_t lowest_slot = -8 * int64_t{UINT8_MAX};  // of rbp, from the CFA

// DW_OP_lit0…31, DW_OP_const1u; UINT64_MAX for anything else.
uint64_t small_constant(ByteCursor& in) {
  const uint8_t op = in.byte();
  if (op >= DW_OP_lit0 && op <= DW_OP_lit31) return op - DW_OP_lit0;
  return op == DW_OP_const1u ? in.byte() : UINT64_MAX;
}

// DW_OP_breg<reg> n, alone or before more. False for anything else.
bool based(ByteCursor& in, uint64_t reg, int64_t& n) {
  if (in.byte() != DW_OP_breg0 + reg) return false;
  n = in.sleb();
  return !in.failed();
}

bool only_based(std::span<const std::byte> code, uint64_t reg, int64_t offset) {
  ByteCursor in(code);
  int64_t n = 0;
  return based(in, reg, n) && n == offset && in.left() == 0;
}

// The k of rsp + 8 + ((rip & 15) >= k) * 8, by which linkers describe their tables; 0 for any other
// code.
uint16_t plt_threshold(std::span<const std::byte> code) {
  ByteCursor in(code);
  int64_t n = 0;
  if (!based(in, dwarf_rsp, n) || n != 8 || !based(in, dwarf_rip, n) || n != 0 ||
      small_constant(in) != 15 || in.byte() != DW_OP_and)
    return 0;
  const uint64_t k = small_constant(in);
  if (k > 15 || in.byte() != DW_OP_ge || small_constant(in) != 3 || in.byte() != DW_OP_shl ||
      in.byte() != DW_OP_plus || in.failed() || in.left() != 0)
    return 0;
  return static_cast<uint16_t>(k);
}

// *(reg + n) + added.
bool deref(std::span<const std::byte> code, uint64_t reg, uint64_t added, int64_t& n) {
  ByteCursor in(code);
  if (!based(in, reg, n) || in.byte() != DW_OP_deref) return false;
  if (added != 0 && (in.byte() != DW_OP_plus_uconst || in.uleb() != added)) return false;
  return !in.failed() && in.left() == 0;
}

constexpr row bad{0, 0, row_bad, 0};

// A row whose offset is signed.
row with_offset(row_kind kind, int64_t offset, uint8_t rbp) {
  if (offset % 8 != 0 || offset / 8 < INT16_MIN || offset / 8 > INT16_MAX) return bad;
  return {0, static_cast<row_u16>(offset / 8), static_cast<row_u8>(kind), rbp};
}

row expression_row(std::span<const std::byte> code, bool rbp_at_rbp, uint8_t rbp) {
  int64_t n = 0;
  if (rbp_at_rbp) return deref(code, dwarf_rbp, 0, n) ? with_offset(row_deref_rbp, n, 0) : bad;
  if (deref(code, dwarf_rsp, 8, n)) return with_offset(row_deref_rsp, n, rbp);
  const uint16_t threshold = plt_threshold(code);
  return threshold == 0 ? bad : row{0, threshold, row_plt, rbp};
}

// Whether a rule marked 'S' is that of a restorer, to which signal handlers return. There rsp
// points to the ucontext, so the saved rip is at rsp + 40 + 8 * 16 (linux: asm/sigcontext.h). Other
// code marked 'S' has it elsewhere.
bool is_ucontext(const FrameState& state) {
  constexpr int64_t saved_rip = 40 + 8 * 16;
  const Rule& ra = state.return_address;
  if (ra.how == Rule::expression) return only_based(ra.code, dwarf_rsp, saved_rip);
  const auto place = static_cast<uint64_t>(state.cfa_offset) + static_cast<uint64_t>(ra.distance);
  return ra.how == Rule::offset && !state.cfa_is_expression && state.cfa_register == dwarf_rsp &&
         place == saved_rip;
}

// An enum row_rbx_slot. A row is still good if rbx cannot be followed: hardly any row needs it.
unsigned rbx_slot(const Rule& rbx) {
  if (rbx.how == Rule::unset || rbx.how == Rule::same) return row_rbx_unchanged;
  const bool in_reach = rbx.how == Rule::offset && rbx.distance < 0 &&
                        rbx.distance > -8 * int64_t{row_rbx_lost} && rbx.distance % 8 == 0;
  return in_reach ? static_cast<unsigned>(rbx.distance / -8) : unsigned{row_rbx_lost};
}

// A row without the place of rbx.
row frame_row(const FrameState& state, bool signal) {
  const Rule& ra = state.return_address;
  if (ra.how == Rule::undefined) return {0, 0, row_end, 0};
  if (signal) return is_ucontext(state) ? row{0, 0, row_signal, 0} : bad;
  if (ra.how != Rule::offset || ra.distance != -8) return bad;

  uint8_t rbp = 0;
  bool rbp_at_rbp = false;
  switch (state.rbp.how) {
    case Rule::unset:
    case Rule::same:
    case Rule::undefined:
      break;
    case Rule::offset:
      if (state.rbp.distance >= 0 || state.rbp.distance < lowest_slot ||
          state.rbp.distance % 8 != 0)
        return bad;
      rbp = static_cast<uint8_t>(state.rbp.distance / -8);
      break;
    case Rule::expression:
      rbp_at_rbp = only_based(state.rbp.code, dwarf_rbp, 0);
      if (!rbp_at_rbp) return bad;
      break;
    case Rule::other:
      return bad;
  }
  if (state.cfa_is_expression) return expression_row(state.cfa_code, rbp_at_rbp, rbp);
  if (rbp_at_rbp) return bad;
  if (state.cfa_register == dwarf_rbp) return with_offset(row_rbp, state.cfa_offset, rbp);
  if (state.cfa_register == dwarf_rbx) return with_offset(row_rbx, state.cfa_offset, rbp);
  if (state.cfa_register != dwarf_rsp || state.cfa_offset % 8 != 0 || state.cfa_offset < 0 ||
      state.cfa_offset / 8 > UINT16_MAX)
    return bad;
  return {0, static_cast<row_u16>(state.cfa_offset / 8), row_rsp, rbp};
}

}  // namespace

row make_row(const FrameState& state, bool signal) {
  row made = frame_row(state, signal);
  if (may_save_rbx(made.kind)) made.kind |= static_cast<row_u8>(rbx_slot(state.rbx) << 4);
  return made;
}

}  // namespace memflame::unwind
