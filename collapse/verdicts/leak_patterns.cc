// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/verdicts/leak_patterns.h"

#include <algorithm>

namespace memflame {

bool matches_leak_pattern(std::string_view pattern, std::string_view text) {
  if (text.empty()) return false;
  if (pattern == text) return true;
  bool at_begin = pattern.starts_with('^');
  if (at_begin) pattern.remove_prefix(1);
  bool after_star = false;
  while (!pattern.empty()) {
    if (pattern[0] == '*') {
      pattern.remove_prefix(1);
      after_star = true;
      at_begin = false;
    } else if (pattern[0] == '$') {
      return text.empty() || after_star;
    } else {
      const std::string_view piece = pattern.substr(0, pattern.find_first_of("*$"));
      const size_t at = text.find(piece);
      if (at == std::string_view::npos || (at_begin && at != 0)) return false;
      text.remove_prefix(at + piece.size());
      pattern.remove_prefix(piece.size());
      at_begin = after_star = false;
    }
  }
  return true;
}

LeakLine read_leak_line(std::string_view line, std::string_view& pattern) {
  constexpr std::string_view prefix = "leak:", blanks = " \t\r";
  line = line.substr(std::min(line.size(), line.find_first_not_of(blanks)));
  line = line.substr(0, line.find_last_not_of(blanks) + 1);
  if (line.empty() || line.starts_with('#')) return LeakLine::empty;
  if (!line.starts_with(prefix) || line.size() == prefix.size()) return LeakLine::other;
  pattern = line.substr(prefix.size());
  return LeakLine::pattern;
}

bool LeakPatterns::add_line(std::string_view line) {
  std::string_view pattern;
  const LeakLine kind = read_leak_line(line, pattern);
  if (kind != LeakLine::pattern) return kind == LeakLine::empty;
  if (pattern.size() > max_length || patterns_.size() >= max_patterns) return false;
  add(std::string(pattern));
  return true;
}

bool LeakPatterns::match(std::string_view text) const {
  return std::any_of(patterns_.begin(), patterns_.end(), [&](const std::string& pattern) {
    return matches_leak_pattern(pattern, text);
  });
}

}  // namespace memflame
