// SPDX-License-Identifier: BSD-2-Clause
#include "core/ruby_lines.h"

namespace memflame {
namespace {

constexpr size_t ruby_row = 8;  // the place and the line, four bytes each

uint32_t ruby_number(std::string_view table, size_t at) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i)
    number |= uint32_t{static_cast<unsigned char>(table[at + i])} << (8 * i);
  return number;
}

}  // namespace

void add_ruby_line(std::string& table, uint32_t place, uint32_t line) {
  for (const uint32_t number : {place, line})
    for (unsigned shift = 0; shift < 32; shift += 8) table += static_cast<char>(number >> shift);
}

uint32_t ruby_line(std::string_view table, uint32_t first_line, uint32_t place) {
  // Ruby itself has a special case for a function that has not begun.
  if (place != 0) --place;
  size_t low = 0, high = table.size() / ruby_row;  // the first row behind the place
  if (high == 0) return 0;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (ruby_number(table, middle * ruby_row) <= place)
      low = middle + 1;
    else
      high = middle;
  }
  return low == 0 ? first_line : ruby_number(table, (low - 1) * ruby_row + 4);
}

}  // namespace memflame
