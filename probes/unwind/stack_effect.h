// SPDX-License-Identifier: BSD-2-Clause
// The effect of one instruction on the stack pointer, rbp and rbx, and where execution continues.
#pragma once

#include <cstdint>

#include "core/elf/image.h"

namespace memflame::unwind {

// Numbers of registers in machine code.
enum : uint8_t { number_rbx = 3, number_rsp = 4, number_rbp = 5, no_register = 16 };

struct StackEffect {
  uint8_t length = 0;  // bytes; 0: no instruction
  enum Flow : uint8_t {
    next,    // after it
    jump,    // to `target`
    branch,  // both
    call,    // after it, if the called function returns
    leave,   // to an address not in the instruction: ret, jmp *%rax
    stop,    // nowhere, or unknown
  } flow = next;
  enum Kind : uint8_t {
    none,
    push,          // one word; `reg`, if it is a register
    pop,           // one word, into `reg` if it is a register
    add,           // rsp += amount
    from_rbp,      // rsp = rbp + amount
    restore,       // leave: rsp = rbp; pop %rbp
    frame_base,    // rbp = rsp + amount
    unknown_stack  // any other write to rsp
  } kind = none;
  uint8_t reg = no_register;
  uint16_t written = 0;  // one bit per register by number, never that of rsp
  int64_t amount = 0;    // bytes
  uint64_t target = 0;   // of a jump, branch or call; 0: not in the instruction
  uint64_t pointer = 0;  // the address that lea x(%rip) loads
  uint64_t number = 0;   // the number that mov $x loads
};

// The first instruction of these bytes; `address` is its address.
StackEffect stack_effect(Bytes code, uint64_t address);

}  // namespace memflame::unwind
