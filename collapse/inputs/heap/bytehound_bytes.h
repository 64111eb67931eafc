// SPDX-License-Identifier: BSD-2-Clause
// The values that bytehound's events consist of, as its library speedy writes them: little-endian
// numbers, and lists with their length before them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collapse/source/source.h"

namespace memflame {

class BytehoundBytes {
 public:
  // Thrown when the input ends within a value.
  struct Ended {};

  explicit BytehoundBytes(Source& source) : source_(source), buffer_(buffer_size) {}

  bool at_end();
  uint64_t position() const { return before_ + at_; }  // bytes taken so far

  uint8_t u8() { return static_cast<uint8_t>(number(1)); }
  uint32_t u32() { return static_cast<uint32_t>(number(4)); }
  uint64_t u64() { return number(8); }
  // The first byte's leading ones say how many bytes follow it; it has the highest bits.
  uint64_t varint();
  void skip(uint64_t size);
  // The next bytes, at most `most`, valid until the next call.
  std::string_view some(uint64_t most);
  // A list of bytes behind its length. Throws Error if it has more than `most`.
  std::string text(size_t most);
  void skip_text() { skip(u32()); }
  // A list of numbers of 4 or 8 bytes behind its length. Throws Error if it has more than `most`.
  void numbers(size_t width, size_t most, std::vector<uint64_t>& into);

 private:
  static constexpr size_t buffer_size = size_t{1} << 16U;
  uint64_t number(size_t width);
  void fill();

  Source& source_;
  std::vector<char> buffer_;
  size_t at_ = 0, end_ = 0;
  uint64_t before_ = 0;  // bytes of earlier buffers
};

}  // namespace memflame
