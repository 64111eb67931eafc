// SPDX-License-Identifier: BSD-2-Clause
// Numbers and bytes as lower-case hex.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace memflame {

// Two digits a byte.
inline std::string hex(std::span<const std::byte> bytes) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte b : bytes) {
    text += digits[std::to_integer<unsigned>(b) >> 4];
    text += digits[std::to_integer<unsigned>(b) & 15];
  }
  return text;
}

// "0x1f"
inline std::string hex(uint64_t number) {
  char text[18] = {'0', 'x'};
  char* const end = std::to_chars(text + 2, text + sizeof(text), number, 16).ptr;
  return std::string(text, end);
}

}  // namespace memflame
