// SPDX-License-Identifier: BSD-2-Clause
// Searches for bytes of a set, by a table: string_view's functions call memchr() for each byte of
// the text, which costs more than all the other work on a short line.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace memflame {

using ByteSet = std::array<bool, 256>;

constexpr ByteSet byte_set(std::string_view bytes) {
  ByteSet set{};
  for (const char c : bytes) set[static_cast<unsigned char>(c)] = true;
  return set;
}

inline constexpr ByteSet blank_bytes = byte_set(" \t");
inline constexpr ByteSet digit_bytes = byte_set("0123456789");
inline constexpr ByteSet hex_bytes = byte_set("0123456789abcdefABCDEF");

constexpr bool has(const ByteSet& set, char c) { return set[static_cast<unsigned char>(c)]; }

// The position of the first byte that is in the set, or is not in it; text.size() if there is none.
constexpr size_t first_in(std::string_view text, const ByteSet& set) {
  size_t at = 0;
  while (at < text.size() && !has(set, text[at])) ++at;
  return at;
}
constexpr size_t first_not_in(std::string_view text, const ByteSet& set) {
  size_t at = 0;
  while (at < text.size() && has(set, text[at])) ++at;
  return at;
}

// The position behind the last byte that is not in the set; 0 if there is none.
constexpr size_t behind_last_not_in(std::string_view text, const ByteSet& set) {
  size_t at = text.size();
  while (at > 0 && has(set, text[at - 1])) --at;
  return at;
}

// Whether the text is not empty and all its bytes are in the set.
constexpr bool all_in(std::string_view text, const ByteSet& set) {
  return !text.empty() && first_not_in(text, set) == text.size();
}

}  // namespace memflame
