// SPDX-License-Identifier: BSD-2-Clause
// Machine code of x86-64, as far as placing probes needs it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace memflame {

using CodeBytes = std::span<const std::byte>;

// What the kernel does with a probe on an instruction.
enum class ProbeCost : uint8_t {
  refused,   // it cannot have one
  stepped,   // executed elsewhere with a trap behind it: 13 us in a virtual machine
  emulated,  // 0.7 us
};

struct Instruction {
  enum Kind : uint8_t { other, jump, conditional, call, ret, stops };
  uint64_t address = 0;
  uint8_t length = 0;
  Kind kind = other;
  bool changes_stack = false;  // rsp, or what lies at it
  ProbeCost cost = ProbeCost::stepped;
  uint8_t arguments_written = 0;  // bit n: the register of argument n + 1
  uint8_t copy_of = 0;            // the register written gets the value of this argument's
  uint64_t target = 0;            // jump, conditional, call: where to; 0 when that is computed
  uint64_t slot = 0;              // … the address it is read from, for `jmp *x(%rip)`

  uint64_t next() const { return address + length; }
  bool is_branch() const { return kind == jump || kind == conditional; }
};

// The instruction at the start of `bytes`, which lie at `address`. Empty if it is not valid. With
// `long_nops` the kernel emulates nops of any length.
std::optional<Instruction> decode(CodeBytes bytes, uint64_t address, bool long_nops = false);

// All instructions of `bytes`, in order. Empty if any of them is not valid.
std::vector<Instruction> decode_all(CodeBytes bytes, uint64_t address, bool long_nops = false);

}  // namespace memflame
