// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/packed.h"

#include <algorithm>

#include "core/gzip.h"

namespace memflame {

void append_number(std::string& out, uint64_t value) {
  for (; value >= 128; value >>= 7U) out += static_cast<char>((value & 127U) | 128U);
  out += static_cast<char>(value);
}

void append_signed(std::string& out, int64_t value) {
  append_number(out, (static_cast<uint64_t>(value) << 1U) ^ static_cast<uint64_t>(value >> 63U));
}

void append_packed(std::string& out, std::string_view bytes, unsigned threads) {
  const std::string packed = gzip_packed(bytes, threads);
  constexpr size_t line = 90;  // bytes: editors dislike endless lines
  out.reserve(out.size() + packed.size() / 3 * 4 + packed.size() / line + line);
  for (size_t i = 0; i < packed.size(); i += line)
    (out += base64(std::string_view(packed).substr(i, line))) += '\n';
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t three = 0;
    for (size_t k = 0; k < 3; ++k)
      three = (three << 8U) | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (size_t k = 0; k < 4; ++k) out += k <= count ? digits[(three >> (18 - 6 * k)) & 63U] : '=';
  }
  return out;
}

}  // namespace memflame
