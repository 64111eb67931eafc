// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/text/json_number.h"

#include <charconv>

#include "collapse/text/byte_set.h"

namespace memflame {
namespace {

constexpr int32_t far_away = 10000;  // an exponent that no value needs

constexpr ByteSet exponent_bytes = byte_set("eE");

// "e-3", "E+12"; exponents far out of range are all alike.
int32_t exponent_of(std::string_view text) {
  text.remove_prefix(1);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int32_t exponent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (error != std::errc{} || exponent > far_away) exponent = far_away;
  return negative ? -exponent : exponent;
}

}  // namespace

bool JsonNumber::scaled(int decimals, int64_t& value, bool& was_rounded) const {
  was_rounded = was_rounded || rounded;
  value = digits;
  int32_t power = exponent + decimals;
  if (value == 0) return true;
  if (power > 0 && rounded) return false;  // more than a fraction was cut off
  for (; power > 0; --power)
    if (__builtin_mul_overflow(value, 10, &value)) return false;
  bool cut = false;
  for (; power < -1 && value != 0; ++power) {
    cut = cut || value % 10 != 0;
    value /= 10;
  }
  if (power < 0) {
    const int64_t last = value % 10;
    cut = cut || last != 0;
    value = value / 10 + (last >= 5 ? 1 : 0) - (last <= -5 ? 1 : 0);
  }
  was_rounded = was_rounded || cut;
  return true;
}

bool is_json_number(std::string_view text) {
  const auto take = [&](std::string_view part) {
    const bool there = text.starts_with(part);
    if (there) text.remove_prefix(part.size());
    return there;
  };
  const auto take_digits = [&] {
    const size_t begin = text.size();
    while (!text.empty() && text[0] >= '0' && text[0] <= '9') text.remove_prefix(1);
    return text.size() != begin;
  };
  take("-");
  if (!take("0") && !take_digits()) return false;
  if (take(".") && !take_digits()) return false;
  if (take("e") || take("E")) {
    if (!take("+")) take("-");
    if (!take_digits()) return false;
  }
  return text.empty();
}

bool parse_json_number(std::string_view text, JsonNumber& number) {
  number = {};
  if (!is_json_number(text)) return false;
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const size_t e = first_in(text, exponent_bytes);
  if (e != text.size()) number.exponent = exponent_of(text.substr(e));
  text = text.substr(0, e);
  const size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::string_view part =
      point == std::string_view::npos ? std::string_view{} : text.substr(point + 1);
  bool is_integer = true, is_full = false;
  for (const std::string_view digits : {whole, part}) {
    for (const char c : digits) {
      int64_t longer = 0;
      is_full = is_full || __builtin_mul_overflow(number.digits, 10, &longer) ||
                __builtin_add_overflow(longer, negative ? '0' - c : c - '0', &longer);
      if (is_full) {
        number.rounded = number.rounded || c != '0';
        if (is_integer && number.exponent <= far_away) ++number.exponent;
        continue;
      }
      number.digits = longer;
      if (!is_integer) --number.exponent;
    }
    is_integer = false;
  }
  while (number.digits != 0 && number.digits % 10 == 0) {
    number.digits /= 10;
    ++number.exponent;
  }
  return true;
}

}  // namespace memflame
