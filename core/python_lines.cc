// SPDX-License-Identifier: BSD-2-Clause
#include "core/python_lines.h"

namespace memflame {
namespace {

// What the first byte of an entry says; below are forms without a change of line.
enum Form : unsigned { one_line_0 = 10, one_line_2 = 12, no_columns = 13, any = 14, none = 15 };

bool begins_entry(char byte) { return (static_cast<unsigned char>(byte) & 0x80U) != 0; }

// Six bits a byte, the lowest first; bit 6 says that another byte follows. The lowest bit of the
// whole is the sign.
int64_t signed_number(std::string_view& rest) {
  uint64_t value = 0;
  for (unsigned shift = 0; !rest.empty() && !begins_entry(rest.front()); shift += 6) {
    const auto byte = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    if (shift < 36) value |= uint64_t{byte & 0x3fU} << shift;
    if ((byte & 0x40U) == 0) break;
  }
  const auto size = static_cast<int64_t>(value >> 1U);
  return (value & 1U) != 0 ? -size : size;
}

}  // namespace

uint32_t python_line(std::string_view table, uint32_t first_line, uint32_t place) {
  int64_t line = first_line;
  uint64_t end = 0;
  while (!table.empty()) {
    const auto head = static_cast<unsigned char>(table.front());
    table.remove_prefix(1);
    if ((head & 0x80U) == 0) continue;  // the rest of the entry before
    const unsigned form = head >> 3U & 15U;
    end += (head & 7U) + 1;
    if (form >= one_line_0 && form <= one_line_2)
      line += form - one_line_0;
    else if (form == no_columns || form == any)
      line += signed_number(table);
    if (place >= end) continue;
    const bool known = form != none && line > 0 && line <= UINT32_MAX;
    return known ? static_cast<uint32_t>(line) : 0;
  }
  return 0;
}

}  // namespace memflame
