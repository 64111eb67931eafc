// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/punycode.h"

#include <cstdint>
#include <vector>

#include "collapse/symbolize/utf8.h"

namespace memflame {
namespace {

// Parameters of RFC 3492, section 5.
constexpr uint64_t base = 36, t_min = 1, t_max = 26, skew = 38, first_damp = 700;
constexpr uint64_t first_bias = 72, first_code = 128;

// Inserting in the middle makes the cost grow with the square of the length.
constexpr size_t max_characters = 1024;

constexpr uint64_t not_a_digit = base;

uint64_t digit_of(char c) {
  if (c >= 'a' && c <= 'z') return static_cast<uint64_t>(c - 'a');
  if (c >= '0' && c <= '9') return static_cast<uint64_t>(c - '0') + 26;
  return not_a_digit;
}

// Takes one variable-length number off `text` and adds it to `sum`.
bool take_delta(std::string_view& text, uint64_t bias, uint64_t& sum) {
  uint64_t weight = 1;
  for (uint64_t k = base; !text.empty(); k += base) {
    const uint64_t digit = digit_of(text[0]);
    text.remove_prefix(1);
    if (digit == not_a_digit) return false;
    const uint64_t threshold = k <= bias ? t_min : k >= bias + t_max ? t_max : k - bias;
    sum += digit * weight;
    if (sum > UINT32_MAX) return false;
    if (digit < threshold) return true;
    weight *= base - threshold;
    if (weight > UINT32_MAX) return false;
  }
  return false;
}

uint64_t adapted_bias(uint64_t delta, uint64_t count) {
  delta += delta / count;
  uint64_t k = 0;
  for (; delta > ((base - t_min) * t_max) / 2; k += base) delta /= base - t_min;
  return k + (base - t_min + 1) * delta / (delta + skew);
}

}  // namespace

std::optional<std::string> from_punycode(std::string_view text, char delimiter) {
  std::vector<uint32_t> codes;
  if (const size_t split = text.rfind(delimiter); split != std::string_view::npos) {
    for (const char c : text.substr(0, split)) codes.push_back(static_cast<unsigned char>(c));
    text.remove_prefix(split + 1);
  }
  uint64_t code = first_code, at = 0, bias = first_bias, damp = first_damp;
  while (!text.empty()) {
    const uint64_t before = at;
    const uint64_t count = codes.size() + 1;
    if (!take_delta(text, bias, at) || count > max_characters) return std::nullopt;
    bias = adapted_bias((at - before) / damp, count);
    damp = 2;
    code += at / count;
    at %= count;
    if (!is_code_point(code)) return std::nullopt;
    codes.insert(codes.begin() + static_cast<ptrdiff_t>(at), static_cast<uint32_t>(code));
    ++at;
  }
  std::string utf8;
  for (const uint32_t c : codes) append_utf8(utf8, c);
  return utf8;
}

}  // namespace memflame
