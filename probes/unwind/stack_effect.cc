// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/stack_effect.h"

#include <array>

#include "probes/unwind/x86_decoder.h"

namespace memflame::unwind {
namespace {

constexpr int word_size = 8;
constexpr uint16_t word_bits = 64;

struct Decoded {
  ZydisDecodedInstruction instruction{};
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands{};

  const ZydisDecodedOperand& first() const { return operands[0]; }
  const ZydisDecodedOperand& second() const { return operands[1]; }
};

bool is_register(const ZydisDecodedOperand& operand, ZydisRegister reg) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER && operand.reg.value == reg;
}

uint8_t number_of(ZydisRegister reg) {
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15) return no_register;
  return static_cast<uint8_t>(whole - ZYDIS_REGISTER_RAX);
}

StackEffect::Flow flow_of(const ZydisDecodedInstruction& instruction, bool has_target) {
  switch (instruction.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
      return has_target ? StackEffect::branch : StackEffect::stop;
    case ZYDIS_CATEGORY_UNCOND_BR:
      return has_target ? StackEffect::jump : StackEffect::leave;
    case ZYDIS_CATEGORY_CALL:
      return StackEffect::call;
    case ZYDIS_CATEGORY_RET:
      return StackEffect::leave;
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_SYSRET:
      return StackEffect::stop;
    default:
      break;
  }
  const bool traps =
      instruction.mnemonic == ZYDIS_MNEMONIC_HLT || instruction.mnemonic == ZYDIS_MNEMONIC_UD0 ||
      instruction.mnemonic == ZYDIS_MNEMONIC_UD1 || instruction.mnemonic == ZYDIS_MNEMONIC_UD2;
  return traps ? StackEffect::stop : StackEffect::next;
}

void note_operands(const Decoded& decoded, StackEffect& effect, bool& writes_rsp) {
  const uint64_t next = effect.target + effect.length;  // `target` still holds the address
  effect.target = 0;
  for (size_t i = 0; i < decoded.instruction.operand_count; ++i) {
    const ZydisDecodedOperand& operand = decoded.operands[i];
    if (operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
      if (operand.imm.is_relative)
        effect.target = next + operand.imm.value.u;
      else if (decoded.instruction.mnemonic == ZYDIS_MNEMONIC_MOV)
        effect.number = operand.imm.value.u;
    }
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.base == ZYDIS_REGISTER_RIP &&
        decoded.instruction.mnemonic == ZYDIS_MNEMONIC_LEA)
      effect.pointer = next + static_cast<uint64_t>(operand.mem.disp.value);
    if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER ||
        (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) == 0)
      continue;
    const uint8_t number = number_of(operand.reg.value);
    if (number == number_rsp)
      writes_rsp = true;
    else if (number != no_register)
      effect.written |= static_cast<uint16_t>(1U << number);
  }
}

// Whether an operand of lea is `base` plus a number.
bool is_based(const ZydisDecodedOperand& operand, ZydisRegister base) {
  return operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.base == base &&
         operand.mem.index == ZYDIS_REGISTER_NONE;
}

// Notes writes to rsp, and copies of rsp to rbp.
void note_stack(const Decoded& decoded, StackEffect& effect, bool writes_rsp) {
  const auto& [instruction, operands] = decoded;
  const auto set = [&](StackEffect::Kind kind, int64_t amount) {
    effect.kind = kind;
    effect.amount = amount;
  };
  const bool wide = instruction.operand_width == word_bits;
  const bool to_rsp = is_register(decoded.first(), ZYDIS_REGISTER_RSP);
  const bool to_rbp = is_register(decoded.first(), ZYDIS_REGISTER_RBP);
  const bool by_number = decoded.second().type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  if (writes_rsp) set(StackEffect::unknown_stack, 0);
  switch (instruction.mnemonic) {
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_POP:
      if (!wide || to_rsp) return;
      if (decoded.first().type == ZYDIS_OPERAND_TYPE_REGISTER)
        effect.reg = number_of(decoded.first().reg.value);
      set(instruction.mnemonic == ZYDIS_MNEMONIC_PUSH ? StackEffect::push : StackEffect::pop,
          word_size);
      return;
    case ZYDIS_MNEMONIC_PUSHFQ:
      return set(StackEffect::push, word_size);
    case ZYDIS_MNEMONIC_POPFQ:
      return set(StackEffect::pop, word_size);
    case ZYDIS_MNEMONIC_ADD:
      if (to_rsp && by_number) set(StackEffect::add, decoded.second().imm.value.s);
      return;
    case ZYDIS_MNEMONIC_SUB:
      if (to_rsp && by_number) set(StackEffect::add, -decoded.second().imm.value.s);
      return;
    case ZYDIS_MNEMONIC_LEAVE:
      if (wide) set(StackEffect::restore, 0);
      return;
    case ZYDIS_MNEMONIC_MOV:
      if (to_rsp && is_register(decoded.second(), ZYDIS_REGISTER_RBP))
        set(StackEffect::from_rbp, 0);
      if (to_rbp && is_register(decoded.second(), ZYDIS_REGISTER_RSP))
        set(StackEffect::frame_base, 0);
      return;
    case ZYDIS_MNEMONIC_LEA: {
      const int64_t distance = decoded.second().mem.disp.value;
      if (to_rsp && is_based(decoded.second(), ZYDIS_REGISTER_RSP)) set(StackEffect::add, distance);
      if (to_rsp && is_based(decoded.second(), ZYDIS_REGISTER_RBP))
        set(StackEffect::from_rbp, distance);
      if (to_rbp && is_based(decoded.second(), ZYDIS_REGISTER_RSP))
        set(StackEffect::frame_base, distance);
      return;
    }
    default:
      return;
  }
}

}  // namespace

StackEffect stack_effect(Bytes code, uint64_t address) {
  Decoded decoded;
  StackEffect effect;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&x86_decoder(), code.data(), code.size(),
                                           &decoded.instruction, decoded.operands.data())))
    return effect;
  effect.length = decoded.instruction.length;
  effect.target = address;
  bool writes_rsp = false;
  note_operands(decoded, effect, writes_rsp);
  effect.flow = flow_of(decoded.instruction, effect.target != 0);
  // A call leaves rsp as it was: the called function pops its return address.
  if (effect.flow == StackEffect::next) note_stack(decoded, effect, writes_rsp);
  return effect;
}

}  // namespace memflame::unwind
