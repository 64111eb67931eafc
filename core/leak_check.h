// SPDX-License-Identifier: BSD-2-Clause
// LeakCheck: the answer to "may this build pass?", in names and sentences. collapse/verdicts/gate.h
// makes it from verdicts, and render/leaks/ writes it. Sizes are bytes, rates bytes per second, and
// times seconds. Names are as untrusted as those of a Profile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/reach.h"

namespace memflame {

// What the check made of a stack. All but the first pass.
enum class CaseOutcome : uint8_t {
  failed,
  unsure,      // the run was too short to tell; fails only if the user asked for that
  known,       // the baseline has it, and it is not clearly worse
  suppressed,  // by a line of a file, or as a block that a library allocates once
  too_slow,    // below --min-rate, or without a steady rate
  too_small,   // below --min-bytes or --min-blocks
  passed,
};
inline constexpr std::array<std::string_view, 7> outcome_names{
    "failed", "cannot tell", "known", "suppressed", "too slow", "too small", "passed"};
inline std::string_view name(CaseOutcome outcome) {
  return outcome_names.at(static_cast<size_t>(outcome));
}

struct LeakFrame {
  std::string function, module;
  std::string file;   // source file, "" if unknown
  uint32_t line = 0;  // 0 if unknown
  bool is_inlined = false;
};

// Stacks with the same functions in the same files of code, in all processes.
struct LeakCase {
  CaseOutcome outcome = CaseOutcome::passed;
  std::string rule;  // the word of --fail-on that it matches: "leak", "linear"; "" if none
  std::string verdict, growth;  // "leak", "linear"; growth may be ""
  std::string sentence;         // the verdict in words, with its evidence
  std::string reason;           // why it does not fail, although it matches a rule; or ""
  std::string process;          // "server"
  int64_t live_bytes = 0, live_blocks = 0;      // at the end
  int64_t leaked_bytes = 0, leaked_blocks = 0;  // that never come back
  struct Rate {
    double value = 0;
    std::optional<double> low{}, high{};  // the 95 % interval, if it is known
  };
  std::optional<Rate> rate;        // none if blocks were left once
  double wait_s = 0;               // cannot tell: how much longer to watch
  std::optional<ReachSums> reach;  // of its live blocks, if the run was scanned
  bool is_worse = false;           // it is in the baseline, but clearly worse now
  std::vector<LeakFrame> frames;   // innermost first
  size_t caller = 0;               // the frame that wanted the memory
};

struct SuppressionUse {
  std::string pattern;  // "leak:foo"; of a built-in one, what it is
  std::string origin;   // "known.supp:3"; "" if it is built in
  uint64_t stacks = 0;
  int64_t bytes = 0, blocks = 0;  // live ones
};

struct LeakCheck {
  struct Sum {
    uint64_t stacks = 0;
    int64_t bytes = 0, blocks = 0;  // live ones
  };

  struct Rule {
    std::string word, meaning;  // of --fail-on
  };

  std::string source;   // "memflame leaks -- ./test", or the name of a recording
  std::string version;  // of memflame
  double seconds = 0;
  std::vector<std::string> conditions;  // as typed: "--fail-on leak,linear"
  std::vector<Rule> rules;
  std::string baseline;         // the name of the file; "" if there is none
  uint64_t gone = 0;            // stacks that failed in the baseline, and do not now
  std::vector<LeakCase> cases;  // what fails first, then the most wrong first
  std::array<Sum, outcome_names.size()> sums{};  // by CaseOutcome
  int64_t leaked_bytes = 0, leaked_blocks = 0;   // neither suppressed nor known
  std::optional<int64_t> most_leaked;            // --fail-if-leaked
  std::vector<SuppressionUse> suppressions;      // in the order of the files, built-in ones last
  std::vector<std::string> doubts;               // why a pass may be wrong

  const Sum& sum(CaseOutcome outcome) const { return sums.at(static_cast<size_t>(outcome)); }
  bool leaked_too_much() const { return most_leaked && leaked_bytes > *most_leaked; }
  bool has_failed() const { return sum(CaseOutcome::failed).stacks != 0 || leaked_too_much(); }
};

}  // namespace memflame
