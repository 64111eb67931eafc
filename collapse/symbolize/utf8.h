// SPDX-License-Identifier: BSD-2-Clause
// Code points written as UTF-8.
#pragma once

#include <cstdint>
#include <string>

namespace memflame {

inline bool is_code_point(uint64_t code) {
  return code < 0x110000 && (code < 0xd800 || code >= 0xe000);
}

inline void append_utf8(std::string& text, uint32_t code) {
  const int tail = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr uint32_t heads[] = {0, 0xc0, 0xe0, 0xf0};
  text += static_cast<char>(heads[tail] | (code >> (6 * tail)));
  for (int i = tail - 1; i >= 0; --i) text += static_cast<char>(0x80 | ((code >> (6 * i)) & 0x3f));
}

}  // namespace memflame
