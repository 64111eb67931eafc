// SPDX-License-Identifier: BSD-2-Clause
// Reading the parts of a Rust v0 name: numbers and identifiers (RFC 2603).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "collapse/symbolize/punycode.h"

namespace memflame::rust_v0 {

// Thrown if a name is not well formed, or if its plain form gets too long.
struct BadName {};

// Types of one letter; empty for other letters.
inline std::string_view basic_type(char c) {
  constexpr std::string_view names[] = {"i8",   "bool",  "char",  "f64", "str", "f32", "",
                                        "u8",   "isize", "usize", "",    "i32", "u32", "i128",
                                        "u128", "_",     "",      "",    "i16", "u16", "()",
                                        "...",  "",      "i64",   "u64", "!"};
  return c >= 'a' && c <= 'z' ? names[c - 'a'] : std::string_view{};
}

class Reader {
 public:
  explicit Reader(std::string_view name) : name_(name) {}

  // A vendor's suffix ends the name: ".llvm.1234".
  bool at_end() const { return at_ >= name_.size() || name_[at_] == '.' || name_[at_] == '$'; }
  size_t position() const { return at_; }
  void move_to(size_t position) { at_ = position; }

  char peek() const { return at_ < name_.size() ? name_[at_] : '\0'; }
  char take() {
    if (at_ >= name_.size()) throw BadName();
    return name_[at_++];
  }
  bool took(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  uint64_t decimal() {
    if (peek() < '0' || peek() > '9') throw BadName();
    if (took('0')) return 0;
    uint64_t value = 0;
    while (peek() >= '0' && peek() <= '9') {
      value = value * 10 + static_cast<uint64_t>(take() - '0');
      if (value > name_.size()) throw BadName();
    }
    return value;
  }

  // "_" is 0, "0_" is 1, and so on in base 62.
  uint64_t base62() {
    if (took('_')) return 0;
    uint64_t value = 0;
    for (char c = take(); c != '_'; c = take()) {
      uint64_t digit = 0;
      if (c >= '0' && c <= '9')
        digit = static_cast<uint64_t>(c - '0');
      else if (c >= 'a' && c <= 'z')
        digit = static_cast<uint64_t>(c - 'a') + 10;
      else if (c >= 'A' && c <= 'Z')
        digit = static_cast<uint64_t>(c - 'A') + 36;
      else
        throw BadName();
      if (__builtin_mul_overflow(value, uint64_t{62}, &value) ||
          __builtin_add_overflow(value, digit, &value))
        throw BadName();
    }
    if (value == UINT64_MAX) throw BadName();
    return value + 1;
  }

  uint64_t disambiguator() { return took('s') ? base62() + 1 : 0; }

  std::string identifier() {
    const bool punycode = took('u');
    const uint64_t size = decimal();
    took('_');
    if (size > name_.size() - at_) throw BadName();
    const std::string_view text = name_.substr(at_, size);
    at_ += size;
    if (!punycode) return std::string(text);
    const std::optional<std::string> decoded = from_punycode(text, '_');
    if (!decoded) throw BadName();
    return *decoded;
  }

  std::string_view hex_digits() {
    const size_t start = at_;
    while (peek() != '_') {
      const char c = take();
      if ((c < '0' || c > '9') && (c < 'a' || c > 'f')) throw BadName();
    }
    return name_.substr(start, at_++ - start);
  }

 private:
  std::string_view name_;
  size_t at_ = 0;
};

}  // namespace memflame::rust_v0
