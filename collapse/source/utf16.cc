// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "collapse/source/unpack.h"

namespace memflame {
namespace {

constexpr uint32_t replacement = 0xFFFD;

class Utf16 : public ByteStream {
 public:
  Utf16(std::unique_ptr<ByteStream> text, bool big_endian)
      : text_(std::move(text)), big_endian_(big_endian) {}

  size_t read(char* into, size_t size) override {
    while (taken_ == ready_.size()) {
      ready_.clear();
      taken_ = 0;
      if (!convert()) return 0;
    }
    const size_t part = std::min(size, ready_.size() - taken_);
    std::memcpy(into, ready_.data() + taken_, part);
    taken_ += part;
    return part;
  }

 private:
  // Makes more text ready; false at the end.
  bool convert() {
    std::array<char, 65536> buffer{};
    const size_t size = text_->read(buffer.data(), buffer.size());
    for (size_t i = 0; i < size; ++i) take(static_cast<unsigned char>(buffer[i]));
    if (size != 0) return true;
    if (half_ >= 0 || high_ != 0) put(replacement);  // it ends within a character
    half_ = -1;
    high_ = 0;
    return !ready_.empty();
  }

  void take(uint32_t byte) {
    if (half_ < 0) {
      half_ = static_cast<int>(byte);
      return;
    }
    const auto first = static_cast<uint32_t>(half_);
    half_ = -1;
    take_unit(big_endian_ ? first << 8U | byte : byte << 8U | first);
  }

  void take_unit(uint32_t unit) {
    const bool low = unit >= 0xDC00 && unit < 0xE000;
    if (high_ != 0) {
      const uint32_t high = high_;
      high_ = 0;
      if (low) return put(0x10000 + ((high - 0xD800) << 10U) + (unit - 0xDC00));
      put(replacement);
    }
    if (unit >= 0xD800 && unit < 0xDC00)
      high_ = unit;
    else
      put(low ? replacement : unit);
  }

  void put(uint32_t code) {
    const auto tail = [&](uint32_t shift) {
      ready_ += static_cast<char>(0x80U | (code >> shift & 0x3FU));
    };
    if (code < 0x80) {
      ready_ += static_cast<char>(code);
    } else if (code < 0x800) {
      ready_ += static_cast<char>(0xC0U | code >> 6U);
      tail(0);
    } else if (code < 0x10000) {
      ready_ += static_cast<char>(0xE0U | code >> 12U);
      tail(6);
      tail(0);
    } else {
      ready_ += static_cast<char>(0xF0U | code >> 18U);
      tail(12);
      tail(6);
      tail(0);
    }
  }

  std::unique_ptr<ByteStream> text_;
  const bool big_endian_;
  std::string ready_;
  size_t taken_ = 0;
  int half_ = -1;      // the first byte of a unit; -1 = none
  uint32_t high_ = 0;  // the first unit of a pair; 0 = none
};

}  // namespace

std::unique_ptr<ByteStream> utf16_as_utf8(std::unique_ptr<ByteStream> text, bool big_endian) {
  return std::make_unique<Utf16>(std::move(text), big_endian);
}

}  // namespace memflame
