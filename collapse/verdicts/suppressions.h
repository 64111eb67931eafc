// SPDX-License-Identifier: BSD-2-Clause
// Stacks that a check passes over: those that files of suppressions name, as LeakSanitizer reads
// them, and blocks that the C and C++ libraries allocate once (one_time.def).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collapse/verdicts/named_verdict.h"

namespace memflame {

class Suppressions {
 public:
  static constexpr size_t max_patterns = 4096, max_length = 1024;
  // More blocks than this in one process are not one-time blocks.
  static constexpr int64_t most_one_time_blocks = 64;

  // Lines "leak:PATTERN", empty lines and comments (#). Throws Error with file and line for any
  // other line, and for too many.
  void add_file(const std::string& name, std::string_view text);
  void add_one_time_blocks() { has_one_time_ = true; }

  // If the stack is suppressed, why: "leak:foo (known.supp:3)"; counts its live bytes. A pattern is
  // compared with function, file of code, and source file of each frame, the innermost first.
  std::optional<std::string> match(const NamedVerdict& stack);

  // What each took: all lines of files, and the built-in ones that took something.
  std::vector<SuppressionUse> uses() const;

 private:
  struct Line {
    std::string pattern;  // without "leak:"
    SuppressionUse use;
  };
  static constexpr size_t none = SIZE_MAX;
  size_t line_for(const std::string& text);
  SuppressionUse* use_for(const NamedVerdict& stack);

  std::vector<Line> lines_;
  std::unordered_map<std::string, size_t> known_;  // text of a frame -> its line, or none
  bool has_one_time_ = false;
  std::vector<SuppressionUse> one_time_;
};

// What the C and C++ libraries allocate once on this stack, "memory for exceptions"; "" if nothing.
std::string_view one_time_blocks_of(const Profile& profile, StackId stack);

// If an ended process left no more than such blocks, they are kept and have not leaked. `what`:
// from one_time_blocks_of().
void excuse(Verdict& verdict, std::string_view what);

}  // namespace memflame
