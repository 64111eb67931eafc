// SPDX-License-Identifier: BSD-2-Clause
// Patterns of known leaks to leave out, as LeakSanitizer has them: "foo" matches within a name, '*'
// matches any text, '^' and '$' the ends of the name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace memflame {

// Each piece of a pattern is looked for once, behind the piece before it. Like LeakSanitizer, this
// takes the first occurrence and tries no later one.
bool matches_leak_pattern(std::string_view pattern, std::string_view text);

enum class LeakLine : uint8_t { empty, pattern, other };

// A line of a file of suppressions: "leak:PATTERN", or nothing but a comment (#). `pattern` then is
// a part of `line`.
LeakLine read_leak_line(std::string_view line, std::string_view& pattern);

class LeakPatterns {
 public:
  // add_line() refuses more or longer patterns, because each name is compared with each pattern.
  static constexpr size_t max_patterns = 256, max_length = 1024;

  // "leak:PATTERN"; false if it is something else, or one too many.
  bool add_line(std::string_view line);
  void add(std::string pattern) { patterns_.push_back(std::move(pattern)); }
  bool match(std::string_view text) const;

 private:
  std::vector<std::string> patterns_;
};

}  // namespace memflame
