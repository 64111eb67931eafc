// SPDX-License-Identifier: BSD-2-Clause
// The numbers at the end of a folded line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace memflame {

// digits / 10^decimals, without trailing zeros: 12.50 is 125 and 1.
struct Decimal {
  static constexpr uint8_t max_decimals = 9;
  int64_t digits = 0;
  uint8_t decimals = 0;
  bool rounded = false;  // there were more decimals; rounded half to even
};

// "12", "-12.5", "20."; false for anything else, also "+3", "1e9", ".5". Throws Error if the digits
// do not fit in 64 bits.
bool parse_decimal(std::string_view text, Decimal& number);

// Takes the last numbers.size() words off a line, each with the blank or TAB before it. Returns
// false if one of them is not a number; `line` then holds the part before it. Throws Error if a
// number does not fit in 64 bits.
bool take_counts(std::string_view& line, std::span<Decimal> numbers);

// Which counts a line may end in if nothing tells how many there are.
enum class Counts : uint8_t {
  none,
  one,
  two,  // two, or a name that ends in a blank and a number
};
Counts counts_of(std::string_view line);

// Removes the first line and returns it without its end. Empty if nothing is left, or only a line
// that may be truncated because the text is not `whole`.
std::optional<std::string_view> first_line(std::string_view& text, bool whole);

// For all lines at the beginning of a text: 2 if each line that ends in a number ends in two, else
// 1. `whole`: its last line is not truncated.
size_t counted_columns(std::string_view head, bool whole);

}  // namespace memflame
