// SPDX-License-Identifier: BSD-2-Clause
// Bytes of instructions, in which the few that are looked for in an interpreter's code are found.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "core/elf/image.h"

namespace memflame {

// Both are for an `at` with enough bytes behind it.
inline uint8_t byte_at(Bytes code, size_t at) { return std::to_integer<uint8_t>(code[at]); }
inline uint32_t number_at(Bytes code, size_t at) {
  uint32_t number = 0;
  std::memcpy(&number, code.data() + at, sizeof(number));
  return number;
}

inline bool begins_with(Bytes code, size_t at, std::initializer_list<uint8_t> bytes) {
  if (at > code.size() || code.size() - at < bytes.size()) return false;
  size_t i = at;
  return std::ranges::all_of(bytes, [&](uint8_t byte) { return byte_at(code, i++) == byte; });
}

// What an operand relative to the next instruction, which is at `next`, refers to.
inline uint64_t relative_to(uint64_t next, uint32_t operand) {
  return next + static_cast<uint64_t>(static_cast<int32_t>(operand));
}

}  // namespace memflame
