// SPDX-License-Identifier: BSD-2-Clause
// Reads numbers from bytes that may end anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace memflame {

// Bytes beyond the end read as zero, and make failed() true from then on.
class ByteCursor {
 public:
  explicit ByteCursor(std::span<const std::byte> bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  const std::byte* at() const { return at_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }
  bool failed() const { return failed_; }
  void fail() {
    failed_ = true;
    at_ = end_;
  }

  template <typename T>
  T number() {
    T value{};
    if (left() < sizeof(T)) {
      fail();
      return value;
    }
    std::memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  uint8_t byte() { return number<uint8_t>(); }

  // Numbers of more than 64 bits fail.
  uint64_t uleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      const uint8_t b = byte();
      const uint64_t part = b & 0x7f;
      if (shift == 63 && part > 1) break;
      value |= part << shift;
      if ((b & 0x80) == 0) return value;
    }
    fail();
    return 0;
  }
  int64_t sleb() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      const uint8_t b = byte();
      const uint64_t part = b & 0x7f;
      if (shift == 63 && part != 0 && part != 0x7f) break;
      value |= part << shift;
      if ((b & 0x80) != 0) continue;
      if ((b & 0x40) != 0 && shift < 57) value |= ~uint64_t{0} << (shift + 7);
      return static_cast<int64_t>(value);
    }
    fail();
    return 0;
  }
  std::span<const std::byte> take(uint64_t size) {
    if (size > left()) {
      fail();
      return {};
    }
    const std::span<const std::byte> taken(at_, size);
    at_ += size;
    return taken;
  }
  // The bytes up to a zero byte, which is skipped.
  std::span<const std::byte> string() {
    const void* zero = left() == 0 ? nullptr : std::memchr(at_, 0, left());
    if (zero == nullptr) {
      fail();
      return {};
    }
    const auto text = take(static_cast<size_t>(static_cast<const std::byte*>(zero) - at_));
    ++at_;
    return text;
  }

 private:
  const std::byte* at_;
  const std::byte* end_;
  bool failed_ = false;
};

}  // namespace memflame
