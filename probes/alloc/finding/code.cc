// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/finding/code.h"

#include <algorithm>
#include <array>

#include "probes/unwind/x86_decoder.h"

namespace memflame {
namespace {

constexpr std::array arguments{ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_RSI, ZYDIS_REGISTER_RDX,
                               ZYDIS_REGISTER_RCX, ZYDIS_REGISTER_R8,  ZYDIS_REGISTER_R9};

struct Decoded {
  ZydisDecodedInstruction instruction{};
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands{};

  std::span<const ZydisDecodedOperand> all() const {
    return {operands.data(), instruction.operand_count};
  }
};

bool has_prefix(const ZydisDecodedInstruction& instruction, std::initializer_list<uint8_t> any) {
  return std::any_of(
      instruction.raw.prefixes, instruction.raw.prefixes + instruction.raw.prefix_count,
      [&](const auto& p) { return std::find(any.begin(), any.end(), p.value) != any.end(); });
}

// The kernel refuses probes on these instructions: they act on the system, or trap themselves.
bool is_privileged(const ZydisDecodedInstruction& instruction) {
  switch (instruction.meta.category) {
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_IO:
    case ZYDIS_CATEGORY_IOSTRINGOP:
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_SYSTEM:
      return true;
    default:
      break;
  }
  return instruction.mnemonic == ZYDIS_MNEMONIC_HLT || instruction.mnemonic == ZYDIS_MNEMONIC_UD2;
}

// The rules of arch/x86/kernel/uprobes.c: which opcodes it emulates, and what it refuses.
ProbeCost probe_cost(const ZydisDecodedInstruction& instruction, bool long_nops) {
  if (has_prefix(instruction, {0x26, 0x2e, 0x36, 0x3e, 0xf0}) || is_privileged(instruction))
    return ProbeCost::refused;
  const bool plain = instruction.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;
  const bool one_byte = plain && instruction.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT;
  const bool two_bytes = plain && instruction.opcode_map == ZYDIS_OPCODE_MAP_0F;
  const uint8_t opcode = instruction.opcode;
  const bool branch = (one_byte && (opcode == 0xe8 || opcode == 0xe9 || opcode == 0xeb ||
                                    (opcode >= 0x70 && opcode <= 0x7f))) ||
                      (two_bytes && opcode >= 0x80 && opcode <= 0x8f);
  if (branch) return has_prefix(instruction, {0x66}) ? ProbeCost::refused : ProbeCost::emulated;
  if (one_byte && opcode >= 0x50 && opcode <= 0x57) {
    const bool short_form =
        instruction.length == 1 ||
        (instruction.length == 2 && instruction.raw.rex.B != 0 && instruction.raw.rex.W == 0 &&
         instruction.raw.rex.R == 0 && instruction.raw.rex.X == 0);
    return short_form ? ProbeCost::emulated : ProbeCost::stepped;
  }
  // Kernels differ on 66 90. 41 90 is xchg %r8d,%eax, though some kernels take it for a nop.
  if (one_byte && opcode == 0x90)
    return instruction.length == 1 ? ProbeCost::emulated : ProbeCost::stepped;
  if (long_nops && two_bytes && opcode == 0x1f && instruction.raw.modrm.reg == 0)
    return ProbeCost::emulated;
  return ProbeCost::stepped;
}

// What kernels from 6.18 on take for a nop and turn into a call (arch/x86/kernel/uprobes.c and
// insn_is_nop() in arch/x86/lib/insn-eval.c), and a little more.
bool becomes_call(const Decoded& decoded) {
  const ZydisDecodedInstruction& instruction = decoded.instruction;
  if (instruction.length != 5 || instruction.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
    return false;
  const uint8_t opcode = instruction.opcode;
  if (instruction.opcode_map == ZYDIS_OPCODE_MAP_0F) return opcode == 0x1f;
  if (instruction.opcode_map != ZYDIS_OPCODE_MAP_DEFAULT) return false;
  const bool moves_nothing = opcode == 0x89 && instruction.raw.modrm.mod == 3;
  const bool adds_nothing = opcode == 0x8d && instruction.raw.disp.value == 0;
  const bool jumps_nowhere =
      (opcode == 0xe9 || opcode == 0xeb) && instruction.raw.imm[0].value.u == 0;
  return opcode == 0x90 || moves_nothing || adds_nothing || jumps_nowhere;
}

Instruction::Kind kind_of(const ZydisDecodedInstruction& instruction) {
  switch (instruction.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
      return Instruction::conditional;
    case ZYDIS_CATEGORY_UNCOND_BR:
      return Instruction::jump;
    case ZYDIS_CATEGORY_CALL:
      return Instruction::call;
    case ZYDIS_CATEGORY_RET:
      return Instruction::ret;
    // A system call may not return, or may start a thread, so it counts as a call.
    case ZYDIS_CATEGORY_SYSCALL:
      return Instruction::call;
    default:
      break;
  }
  return is_privileged(instruction) ? Instruction::stops : Instruction::other;
}

// Whether a write may change the return address at [rsp]: `mov %rdi,8(%rsp)` writes above it, and
// the red zone lies below. With an index register the address is unknown.
bool writes_at_stack(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.base == ZYDIS_REGISTER_RSP &&
         (operand.mem.index != ZYDIS_REGISTER_NONE || operand.mem.disp.value > -8) &&
         operand.mem.disp.value < 8;
}

// Data below rsp is reached by rsp itself, by rbp as the frame pointer, or by a copy of rsp.
Instruction::RedZone red_zone_of(const Decoded& decoded) {
  Instruction::RedZone found = Instruction::outside;
  bool writes_rsp = false;
  bool copies = false;
  for (const ZydisDecodedOperand& operand : decoded.all()) {
    const bool written = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) {
      writes_rsp |= written && operand.reg.value == ZYDIS_REGISTER_RSP;
      copies |= !written && operand.reg.value == ZYDIS_REGISTER_RSP;
    }
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY ||
        operand.visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT)
      continue;
    const bool below = operand.mem.index != ZYDIS_REGISTER_NONE || operand.mem.disp.value < 0;
    if (operand.mem.base == ZYDIS_REGISTER_RSP && below) found = Instruction::inside;
    if (operand.mem.base == ZYDIS_REGISTER_RBP && below && found == Instruction::outside)
      found = Instruction::if_leaf;
    copies |= operand.mem.type == ZYDIS_MEMOP_TYPE_AGEN && operand.mem.base == ZYDIS_REGISTER_RSP;
  }
  if (writes_rsp) return Instruction::outside;  // lea -24(%rsp),%rsp
  const ZydisDecodedOperand& to = decoded.operands[0];
  const bool to_frame =
      to.type == ZYDIS_OPERAND_TYPE_REGISTER && to.reg.value == ZYDIS_REGISTER_RBP;
  if (copies && !to_frame && found == Instruction::outside) found = Instruction::if_leaf;
  return found;
}

void note_writes(const Decoded& decoded, Instruction& instruction) {
  for (const ZydisDecodedOperand& operand : decoded.all()) {
    if ((operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) == 0) continue;
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) {
      const ZydisRegister whole =
          ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, operand.reg.value);
      instruction.changes_stack |= whole == ZYDIS_REGISTER_RSP;
      const auto* found = std::find(arguments.begin(), arguments.end(), whole);
      if (found != arguments.end())
        instruction.arguments_written |= static_cast<uint8_t>(1U << (found - arguments.begin()));
    } else {
      instruction.stores |= operand.type == ZYDIS_OPERAND_TYPE_MEMORY;
      instruction.changes_stack |= writes_at_stack(operand);
    }
  }
}

// `mov %rdi,%rsi`: all 64 bits of an argument's register go to that of another argument.
void note_copy(const Decoded& decoded, Instruction& instruction) {
  const ZydisDecodedOperand& to = decoded.operands[0];
  const ZydisDecodedOperand& from = decoded.operands[1];
  if (decoded.instruction.mnemonic != ZYDIS_MNEMONIC_MOV || decoded.instruction.operand_count < 2 ||
      to.type != ZYDIS_OPERAND_TYPE_REGISTER || from.type != ZYDIS_OPERAND_TYPE_REGISTER)
    return;
  const auto source = std::find(arguments.begin(), arguments.end(), from.reg.value);
  const bool known = std::find(arguments.begin(), arguments.end(), to.reg.value) != arguments.end();
  if (known && source != arguments.end())
    instruction.copy_of = static_cast<uint8_t>(source - arguments.begin() + 1);
}

void note_target(const Decoded& decoded, Instruction& instruction) {
  if (instruction.kind != Instruction::jump && instruction.kind != Instruction::conditional &&
      instruction.kind != Instruction::call)
    return;
  for (const ZydisDecodedOperand& operand : decoded.all()) {
    if (operand.visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT) continue;
    if (operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operand.imm.is_relative)
      instruction.target = instruction.next() + operand.imm.value.u;
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.base == ZYDIS_REGISTER_RIP)
      instruction.slot = instruction.next() + static_cast<uint64_t>(operand.mem.disp.value);
  }
}

}  // namespace

std::optional<Instruction> decode(CodeBytes bytes, uint64_t address, bool long_nops) {
  Decoded decoded;
  if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&x86_decoder(), bytes.data(), bytes.size(),
                                           &decoded.instruction, decoded.operands.data())))
    return std::nullopt;
  Instruction instruction;
  instruction.address = address;
  instruction.length = decoded.instruction.length;
  instruction.kind = kind_of(decoded.instruction);
  instruction.cost = probe_cost(decoded.instruction, long_nops);
  instruction.becomes_call = becomes_call(decoded);
  instruction.red_zone = red_zone_of(decoded);
  note_writes(decoded, instruction);
  note_copy(decoded, instruction);
  note_target(decoded, instruction);
  return instruction;
}

std::vector<Instruction> decode_all(CodeBytes bytes, uint64_t address, bool long_nops) {
  std::vector<Instruction> all;
  while (!bytes.empty()) {
    const std::optional<Instruction> one = decode(bytes, address, long_nops);
    if (!one) return {};
    all.push_back(*one);
    bytes = bytes.subspan(one->length);
    address += one->length;
  }
  return all;
}

}  // namespace memflame
