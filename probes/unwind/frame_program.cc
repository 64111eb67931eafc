// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/frame_program.h"

#include <dwarf.h>

namespace memflame::unwind {
namespace {

constexpr size_t max_remembered = 32;          // states on the stack; compilers need one or two
constexpr uint8_t dw_cfa_advance_loc8 = 0x1d;  // DW_CFA_MIPS_advance_loc8

int64_t scaled(uint64_t factor, int64_t align) {
  return static_cast<int64_t>(factor * static_cast<uint64_t>(align));
}

// One run of a program, from location `at` to `size`, both counted from the FDE's first
// instruction.
class Run {
 public:
  // `rows` nullptr: the program of a CIE, which may not advance.
  Run(const Cie& cie, const FrameSection& section, uint64_t start, uint64_t size,
      std::vector<row>* rows)
      : cie_(cie), section_(section), start_(start), size_(size), rows_(rows) {}

  bool run(ByteCursor in, FrameState& state) {
    while (in.left() > 0 && !ended_) {
      const uint8_t opcode = in.byte(), low = opcode & 0x3f;
      switch (opcode & 0xc0) {
        case DW_CFA_advance_loc:
          advance(in, state, low);
          break;
        case DW_CFA_offset:
          save_at(state, low, scaled(in.uleb(), cie_.data_align));
          break;
        case DW_CFA_restore:
          restore(state, low);
          break;
        default:
          if (!cfa_rule(in, state, low) && !register_rule(in, state, low) && !other(in, state, low))
            return false;
      }
      if (in.failed()) return false;
    }
    if (rows_ != nullptr && !ended_) emit(state);
    return true;
  }

 private:
  void emit(const FrameState& state) {
    row made = make_row(state, cie_.signal);
    made.pc = static_cast<uint32_t>(at_);
    // A row that covers no instruction is replaced by the next.
    if (!rows_->empty() && rows_->back().pc == made.pc) rows_->pop_back();
    const bool repeated = !rows_->empty() && rows_->back().cfa == made.cfa &&
                          rows_->back().kind == made.kind && rows_->back().rbp == made.rbp;
    if (!repeated) rows_->push_back(made);
  }

  // The program is not run beyond the end of the FDE's code.
  void move(ByteCursor& in, const FrameState& state, uint64_t to) {
    if (rows_ == nullptr || to < at_) return in.fail();
    emit(state);
    at_ = to;
    ended_ = at_ >= size_;
  }
  void advance(ByteCursor& in, const FrameState& state, uint64_t delta) {
    uint64_t bytes = 0, to = 0;
    if (in.failed()) return;
    if (__builtin_mul_overflow(delta, cie_.code_align, &bytes) ||
        __builtin_add_overflow(at_, bytes, &to))
      return in.fail();
    move(in, state, to);
  }

  // The rule of a register; nullptr if the register is not followed.
  Rule FrameState::*rule_of(uint64_t reg) const {
    if (reg == cie_.return_register) return &FrameState::return_address;
    if (reg == dwarf_rbp) return &FrameState::rbp;
    return reg == dwarf_rbx ? &FrameState::rbx : nullptr;
  }
  void set(FrameState& state, uint64_t reg, Rule rule) const {
    if (const auto known = rule_of(reg)) state.*known = rule;
  }
  void save_at(FrameState& state, uint64_t reg, int64_t distance) const {
    set(state, reg, {Rule::offset, distance, {}});
  }
  void restore(FrameState& state, uint64_t reg) const {
    if (const auto known = rule_of(reg)) state.*known = cie_.initial.*known;
  }

  static void define_cfa(FrameState& state, uint64_t reg, int64_t offset) {
    state.cfa_is_expression = false;
    state.cfa_register = reg;
    state.cfa_offset = offset;
  }

  bool cfa_rule(ByteCursor& in, FrameState& state, uint8_t opcode) {
    const bool relative = !state.cfa_is_expression;  // there is a register to keep
    switch (opcode) {
      case DW_CFA_def_cfa: {
        const uint64_t reg = in.uleb();
        define_cfa(state, reg, static_cast<int64_t>(in.uleb()));
        return true;
      }
      case DW_CFA_def_cfa_sf: {
        const uint64_t reg = in.uleb();
        define_cfa(state, reg, scaled(static_cast<uint64_t>(in.sleb()), cie_.data_align));
        return true;
      }
      case DW_CFA_def_cfa_register: {
        // After an expression, the offset from before the expression applies. DWARF does not say
        // so, but libgcc does it, and libgcrypt's assembler code needs it.
        const bool has_offset = relative || state.cfa_register != UINT64_MAX;
        define_cfa(state, in.uleb(), state.cfa_offset);
        return has_offset;
      }
      case DW_CFA_def_cfa_offset:
        state.cfa_offset = static_cast<int64_t>(in.uleb());
        return relative;
      case DW_CFA_def_cfa_offset_sf:
        state.cfa_offset = scaled(static_cast<uint64_t>(in.sleb()), cie_.data_align);
        return relative;
      case DW_CFA_def_cfa_expression:
        state.cfa_is_expression = true;
        state.cfa_code = in.take(in.uleb());
        return true;
      default:
        return false;
    }
  }

  bool register_rule(ByteCursor& in, FrameState& state, uint8_t opcode) const {
    const bool of_register = (opcode >= DW_CFA_offset_extended && opcode <= DW_CFA_register) ||
                             opcode == DW_CFA_expression || opcode == DW_CFA_offset_extended_sf ||
                             (opcode >= DW_CFA_val_offset && opcode <= DW_CFA_val_expression) ||
                             opcode == DW_CFA_GNU_negative_offset_extended;
    if (!of_register) return false;
    const uint64_t reg = in.uleb();
    switch (opcode) {
      case DW_CFA_offset_extended:
        save_at(state, reg, scaled(in.uleb(), cie_.data_align));
        break;
      case DW_CFA_offset_extended_sf:
        save_at(state, reg, scaled(static_cast<uint64_t>(in.sleb()), cie_.data_align));
        break;
      case DW_CFA_GNU_negative_offset_extended:
        save_at(state, reg, scaled(0 - in.uleb(), cie_.data_align));
        break;
      case DW_CFA_restore_extended:
        restore(state, reg);
        break;
      case DW_CFA_undefined:
        set(state, reg, {Rule::undefined, 0, {}});
        break;
      case DW_CFA_same_value:
        set(state, reg, {Rule::same, 0, {}});
        break;
      case DW_CFA_register:
        set(state, reg, {in.uleb() == reg ? Rule::same : Rule::other, 0, {}});
        break;
      case DW_CFA_expression:
        set(state, reg, {Rule::expression, 0, in.take(in.uleb())});
        break;
      case DW_CFA_val_offset:
        in.uleb();
        set(state, reg, {Rule::other, 0, {}});
        break;
      case DW_CFA_val_offset_sf:
        in.sleb();
        set(state, reg, {Rule::other, 0, {}});
        break;
      default:  // DW_CFA_val_expression
        in.take(in.uleb());
        set(state, reg, {Rule::other, 0, {}});
    }
    return true;
  }

  bool other(ByteCursor& in, FrameState& state, uint8_t opcode) {
    switch (opcode) {
      case DW_CFA_nop:
        return true;
      case DW_CFA_set_loc: {
        const uint64_t to = read_pointer(in, cie_.encoding, section_);
        move(in, state, to - start_);
        return to >= start_;
      }
      case DW_CFA_advance_loc1:
        advance(in, state, in.byte());
        return true;
      case DW_CFA_advance_loc2:
        advance(in, state, in.number<uint16_t>());
        return true;
      case DW_CFA_advance_loc4:
        advance(in, state, in.number<uint32_t>());
        return true;
      case dw_cfa_advance_loc8:
        advance(in, state, in.number<uint64_t>());
        return true;
      case DW_CFA_remember_state:
        if (remembered_.size() == max_remembered) return false;
        remembered_.push_back(state);
        return true;
      case DW_CFA_restore_state:
        if (remembered_.empty()) return false;
        state = remembered_.back();
        remembered_.pop_back();
        return true;
      case DW_CFA_GNU_args_size:
        in.uleb();
        return true;
      default:
        return false;
    }
  }

  const Cie& cie_;
  const FrameSection& section_;
  const uint64_t start_, size_;
  std::vector<row>* const rows_;
  std::vector<FrameState> remembered_;
  uint64_t at_ = 0;
  bool ended_ = false;
};

}  // namespace

bool run_initial(const Cie& cie, const FrameSection& section, ByteCursor in, FrameState& state) {
  return Run(cie, section, 0, 0, nullptr).run(in, state);
}

bool fde_rows(const Frames& frames, const Fde& fde, std::vector<row>& rows) {
  rows.clear();
  const Cie& cie = frames.cies[fde.cie];
  if (fde.broken || cie.broken) return false;
  FrameState state = cie.initial;
  return Run(cie, frames.sections[cie.section], fde.start, fde.size, &rows)
      .run(ByteCursor(fde.program), state);
}

}  // namespace memflame::unwind
