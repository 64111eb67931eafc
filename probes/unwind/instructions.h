// SPDX-License-Identifier: BSD-2-Clause
// Skips machine code whose every instruction is known.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "core/elf/image.h"

namespace memflame::unwind {

class Instructions {
 public:
  explicit Instructions(Bytes code) : code_(code) {}

  size_t at() const { return at_; }
  bool at_end() const { return at_ == code_.size(); }
  // Passes one instruction: these bytes, then `operand` bytes of any value. False if other bytes
  // follow, or too few.
  bool pass(std::initializer_list<int> bytes, size_t operand = 0) {
    if (code_.size() - at_ < bytes.size() + operand) return false;
    const auto is = [](int a, std::byte b) { return a == std::to_integer<int>(b); };
    if (!std::equal(bytes.begin(), bytes.end(), code_.begin() + static_cast<ptrdiff_t>(at_), is))
      return false;
    at_ += bytes.size() + operand;
    return true;
  }
  // The next byte; -1 at the end.
  int peek() const { return at_end() ? -1 : std::to_integer<int>(code_[at_]); }
  // Skips `size` bytes of any value.
  bool skip(size_t size) { return pass({}, size); }
  // The signed number of `size` bytes, 1 or 4, that ends `behind` bytes before the current
  // position.
  int64_t number(size_t size, size_t behind = 0) const {
    const std::byte* first = code_.data() + (at_ - behind - size);
    if (size == 1) return static_cast<int8_t>(*first);
    int32_t value = 0;
    std::memcpy(&value, first, sizeof(value));
    return value;
  }

  bool landing() { return pass({0xf3, 0x0f, 0x1e, 0xfa}); }  // endbr64
  // jmp *x(%rip), with or without the prefix bnd (MPX)
  bool jump() { return pass({0xff, 0x25}, 4) || pass({0xf2, 0xff, 0x25}, 4); }
  // Any form of nop, the longest 15 bytes.
  bool nop() {
    const size_t start = at_;
    while (at_ - start < 14 && (pass({0x66}) || pass({0x2e}))) continue;
    if (pass({0x90}) || pass({0x0f, 0x1f, 0x00}) || pass({0x0f, 0x1f, 0x40, 0}) ||
        pass({0x0f, 0x1f, 0x44, 0, 0}) || pass({0x0f, 0x1f, 0x80, 0, 0, 0, 0}) ||
        pass({0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}))
      return true;
    at_ = start;
    return false;
  }
  // One piece of the padding that linkers and assemblers put into gaps: int3, a zero byte, or a
  // nop.
  bool padding() { return pass({0xcc}) || pass({0}) || nop(); }

 private:
  Bytes code_;
  size_t at_ = 0;
};

// Compilers align functions to 16 bytes, so no function lies in a smaller gap; assemblers align to
// at most 64.
inline constexpr uint64_t function_align = 16, max_padding = 64;

// Whether these bytes hold nothing to execute.
inline bool is_padding(Bytes code) {
  Instructions in(code);
  while (in.padding()) continue;
  return in.at_end();
}

}  // namespace memflame::unwind
