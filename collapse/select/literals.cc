// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/select/literals.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace memflame {
namespace {

constexpr size_t most_digits = 15;
constexpr uint64_t longest_ns = 1'000'000'000'000'000'000;

struct SpanUnit {
  std::string_view name;
  uint64_t ns;
};
// From long to short, because that is how they follow each other in "1m30s".
constexpr std::array selected_time_units{SpanUnit{"d", 86'400'000'000'000},
                                         SpanUnit{"h", 3'600'000'000'000},
                                         SpanUnit{"m", 60'000'000'000},
                                         SpanUnit{"s", 1'000'000'000},
                                         SpanUnit{"ms", 1'000'000},
                                         SpanUnit{"us", 1'000},
                                         SpanUnit{"ns", 1}};
constexpr size_t seconds_unit = 3;

bool is_digit_of_number(char c) { return c >= '0' && c <= '9'; }

// The decimal number that `text` begins with, which is removed from it.
std::optional<ExactFraction> take_decimal(std::string_view& text) {
  ExactFraction number;
  size_t at = 0, digits = 0;
  bool behind_point = false;
  for (; at < text.size(); ++at) {
    if (text[at] == '.' && !behind_point && digits > 0) {
      behind_point = true;
      continue;
    }
    if (!is_digit_of_number(text[at])) break;
    if (++digits > most_digits) return std::nullopt;
    number.digits = number.digits * 10 + static_cast<uint64_t>(text[at] - '0');
    if (behind_point) ++number.scale;
  }
  if (digits == 0 || text[at - 1] == '.') return std::nullopt;
  text.remove_prefix(at);
  return number;
}

// Rounds down to whole nanoseconds.
std::optional<uint64_t> times(const ExactFraction& number, uint64_t unit_ns) {
  __extension__ using Wide = unsigned __int128;
  Wide ns = Wide{number.digits} * unit_ns;
  for (uint8_t i = 0; i < number.scale; ++i) ns /= 10;
  if (ns > longest_ns) return std::nullopt;
  return static_cast<uint64_t>(ns);
}

}  // namespace

std::optional<uint64_t> parse_nanoseconds(std::string_view text) {
  uint64_t sum = 0;
  size_t next = 0;  // units of at least this place may follow
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    const std::optional<ExactFraction> number = take_decimal(text);
    if (!number) return std::nullopt;
    const size_t letters = static_cast<size_t>(
        std::find_if(text.begin(), text.end(), is_digit_of_number) - text.begin());
    const std::string_view name = text.substr(0, letters);
    text.remove_prefix(letters);
    size_t unit = 0;
    while (unit < selected_time_units.size() && selected_time_units[unit].name != name) ++unit;
    if (name.empty() && next == 0) unit = seconds_unit;
    if (unit == selected_time_units.size() || unit < next) return std::nullopt;
    const std::optional<uint64_t> part = times(*number, selected_time_units[unit].ns);
    if (!part || sum + *part > longest_ns) return std::nullopt;
    sum += *part;
    next = unit + 1;
  }
  return sum;
}

std::optional<ExactFraction> parse_percentage(std::string_view text) {
  std::optional<ExactFraction> number = take_decimal(text);
  if (!number || text != "%") return std::nullopt;
  number->scale += 2;
  return number;
}

std::optional<ExactFraction> parse_share(std::string_view text) {
  std::string_view rest = text;
  const std::optional<ExactFraction> number = take_decimal(rest);
  return number && rest.empty() ? number : parse_percentage(text);
}

std::optional<uint64_t> parse_count(std::string_view text) {
  const bool is_hex = text.starts_with("0x");
  if (is_hex) text.remove_prefix(2);
  uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, is_hex ? 16 : 10);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace memflame
