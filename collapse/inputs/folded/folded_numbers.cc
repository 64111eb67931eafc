// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/folded/folded_numbers.h"

#include <algorithm>

#include "core/error.h"

namespace memflame {
namespace {

bool is_decimal(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t'; }

// Adds a digit on the negative side, whose range is larger by one.
void append(int64_t& negative, char digit) {
  if (__builtin_mul_overflow(negative, 10, &negative) ||
      __builtin_sub_overflow(negative, digit - '0', &negative))
    throw Error("its number leaves the range of 64 bits");
}

// The decimals of a number, digits only.
void append_fraction(int64_t& negative, std::string_view fraction, Decimal& number) {
  fraction = fraction.substr(0, fraction.find_last_not_of('0') + 1);
  const std::string_view kept = fraction.substr(0, Decimal::max_decimals);
  const std::string_view dropped = fraction.substr(kept.size());
  for (const char digit : kept) append(negative, digit);
  number.decimals = static_cast<uint8_t>(kept.size());
  if (dropped.empty()) return;
  number.rounded = true;
  const bool half = dropped == "5";
  if (half ? negative % 2 != 0 : dropped.front() >= '5')
    if (__builtin_sub_overflow(negative, 1, &negative))
      throw Error("its number leaves the range of 64 bits");
  for (; number.decimals > 0 && negative % 10 == 0; --number.decimals) negative /= 10;
}

// The last word of a line without the blanks after it; the line loses both and, if there is one,
// the blank before.
std::string_view last_word(std::string_view& line) {
  while (!line.empty() && is_space(line.back())) line.remove_suffix(1);
  size_t begin = line.size();
  while (begin > 0 && !is_space(line[begin - 1])) --begin;
  const std::string_view word = line.substr(begin);
  line = line.substr(0, begin);
  return word;
}

bool is_number(std::string_view word) {
  if (word.starts_with('-')) word.remove_prefix(1);
  const size_t point = std::min(word.find('.'), word.size());
  const std::string_view whole = word.substr(0, point);
  const std::string_view fraction = point < word.size() ? word.substr(point + 1) : "";
  return !whole.empty() && std::all_of(whole.begin(), whole.end(), is_decimal) &&
         std::all_of(fraction.begin(), fraction.end(), is_decimal);
}

}  // namespace

bool parse_decimal(std::string_view text, Decimal& number) {
  const bool minus = text.starts_with('-');
  std::string_view rest = text.substr(minus ? 1 : 0);
  number = {};
  constexpr size_t safe = 18;  // digits that always fit in 64 bits
  if (rest.size() <= safe && !rest.empty()) {
    int64_t value = 0;
    const char* at = rest.data();
    const char* const end = at + rest.size();
    for (; at != end && is_decimal(*at); ++at) value = 10 * value + (*at - '0');
    if (at == end) {
      number.digits = minus ? -value : value;
      return true;
    }
  }
  if (!is_number(text)) return false;
  const size_t point = std::min(rest.find('.'), rest.size());
  int64_t negative = 0;
  for (const char digit : rest.substr(0, point)) append(negative, digit);
  if (point < rest.size()) append_fraction(negative, rest.substr(point + 1), number);
  if (!minus && negative == INT64_MIN) throw Error("its number leaves the range of 64 bits");
  number.digits = minus ? negative : -negative;
  return true;
}

bool take_counts(std::string_view& line, std::span<Decimal> numbers) {
  for (size_t i = numbers.size(); i-- > 0;) {
    const std::string_view word = last_word(line);
    if (line.empty() || !parse_decimal(word, numbers[i])) return false;
    line.remove_suffix(1);
  }
  return true;
}

Counts counts_of(std::string_view line) {
  const std::string_view last = last_word(line);
  if (line.empty() || !is_number(last)) return Counts::none;
  const bool tab = line.ends_with('\t');
  line.remove_suffix(1);
  const std::string_view before = last_word(line);
  // When the separator is a TAB, blanks belong to the name.
  if (line.empty() || !is_number(before) || (tab && !line.ends_with('\t'))) return Counts::one;
  return Counts::two;
}

std::optional<std::string_view> first_line(std::string_view& text, bool whole) {
  const size_t feed = text.find('\n');
  if (text.empty() || (feed == std::string_view::npos && !whole)) return std::nullopt;
  std::string_view line = text.substr(0, feed);
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

size_t counted_columns(std::string_view head, bool whole) {
  bool any = false;
  while (const std::optional<std::string_view> line = first_line(head, whole)) {
    if (line->starts_with("# ") || line->starts_with("#\t")) continue;
    const Counts counts = counts_of(*line);
    if (counts == Counts::one) return 1;
    any = any || counts == Counts::two;
  }
  return any ? 2 : 1;
}

}  // namespace memflame
