// SPDX-License-Identifier: BSD-2-Clause
// Text as UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace memflame {

// Appends a code point, at most 0x1fffff.
inline void append_utf8(std::string& text, unsigned code) {
  const auto tail = [&](unsigned shift) {
    text += static_cast<char>(0x80U | ((code >> shift) & 0x3fU));
  };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xc0U | (code >> 6U));
    tail(0);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0U | (code >> 12U));
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xf0U | (code >> 18U));
    tail(12);
    tail(6);
    tail(0);
  }
}

// The beginning of a text, at most `most` bytes and no half characters. Names of an input that many
// frames are made of must not be as long as the input.
inline std::string_view beginning(std::string_view text, size_t most) {
  if (text.size() <= most) return text;
  while (most != 0 && (static_cast<unsigned char>(text[most]) & 0xc0U) == 0x80U) --most;
  return text.substr(0, most);
}

}  // namespace memflame
