// SPDX-License-Identifier: BSD-2-Clause
// JSON numbers without the rounding of floating point.
#pragma once

#include <cstdint>
#include <string_view>

namespace memflame {

// digits * 10^exponent. Digits beyond 64 bits are not kept.
struct JsonNumber {
  int64_t digits = 0;
  int32_t exponent = 0;
  bool rounded = false;  // there were more digits

  // As a multiple of 10^-decimals, rounded half away from zero; `was_rounded` becomes true if that
  // changes it. False if it does not fit in 64 bits.
  bool scaled(int decimals, int64_t& value, bool& was_rounded) const;
};

// Whether it is a number in the grammar of JSON: "-12.5e-3", not "+1", "01" or "1.".
bool is_json_number(std::string_view text);

// False if it is not a JSON number.
bool parse_json_number(std::string_view text, JsonNumber& number);

}  // namespace memflame
