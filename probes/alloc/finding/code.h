// SPDX-License-Identifier: BSD-2-Clause
// Decodes x86-64 machine code, as far as placing probes needs it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace memflame {

using CodeBytes = std::span<const std::byte>;

// What the kernel does with a probe on an instruction.
enum class ProbeCost : uint8_t {
  refused,   // does not accept it
  stepped,   // single-steps a copy of the instruction: 13 us in a virtual machine
  emulated,  // 0.7 us
};

struct Instruction {
  enum Kind : uint8_t { other, jump, conditional, call, ret, stops };
  uint64_t address = 0;
  uint8_t length = 0;
  Kind kind = other;
  bool changes_stack = false;  // rsp, or the return address that lies there on entry
  ProbeCost cost = ProbeCost::stepped;
  uint8_t arguments_written = 0;  // bit n: the register of argument n + 1
  uint8_t copy_of = 0;            // the argument whose register is copied, from 1; 0: none
  bool stores = false;            // writes memory
  // A nop of five bytes: since Linux 6.18 a probe turns it into a call, which writes at -8(%rsp)
  // and below. Later kernels do so with one of ten bytes, and leave the red zone alone.
  bool becomes_call = false;
  // Whether it tells of data in the red zone, the 128 bytes below rsp that the ABI gives to a
  // function: by itself, or if the function makes no call.
  enum RedZone : uint8_t { outside, if_leaf, inside };
  RedZone red_zone = outside;
  uint64_t target = 0;  // of a jump, conditional jump or call; 0: computed
  uint64_t slot = 0;    // for `jmp *x(%rip)`: the address that the target is read from

  uint64_t next() const { return address + length; }
  bool is_branch() const { return kind == jump || kind == conditional; }
};

// The instruction at the start of `bytes`, which lie at `address`. Empty if it is not valid. With
// `long_nops` the kernel emulates nops of any length.
std::optional<Instruction> decode(CodeBytes bytes, uint64_t address, bool long_nops = false);

// All instructions of `bytes`, in order. Empty if any of them is not valid.
std::vector<Instruction> decode_all(CodeBytes bytes, uint64_t address, bool long_nops = false);

}  // namespace memflame
