// SPDX-License-Identifier: BSD-2-Clause
// Reads line-based text that others wrote.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

namespace memflame {

// Takes the next line off `text`, without its end; false at the end of the text.
inline bool next_line(std::string_view& text, std::string_view& line) {
  if (text.empty()) return false;
  const size_t end = text.find('\n');
  line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

// Takes a hex number, with or without 0x, and the blanks behind it off `line`. False if there is
// none, if it does not fit, or if anything but a blank follows it.
inline bool take_hex(std::string_view& line, uint64_t& value) {
  if (line.starts_with("0x") || line.starts_with("0X")) line.remove_prefix(2);
  const char* end = line.data() + line.size();
  const std::from_chars_result read = std::from_chars(line.data(), end, value, 16);
  if (read.ec != std::errc() || read.ptr == end || *read.ptr != ' ') return false;
  line.remove_prefix(static_cast<size_t>(read.ptr - line.data()));
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return true;
}

}  // namespace memflame
