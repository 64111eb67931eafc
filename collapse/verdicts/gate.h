// SPDX-License-Identifier: BSD-2-Clause
// Verdicts -> may this build pass? The idea: each stack that matches a word of --fail-on fails,
// unless it is suppressed, in the baseline, or below a floor; all of these are counted. What the
// run was too short to judge is counted, too, and never called a pass.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collapse/verdicts/named_verdict.h"
#include "collapse/verdicts/suppressions.h"
#include "core/leak_check.h"

namespace memflame {

// A word of --fail-on: a kind of verdict, or a class of growth if that is not none, or blocks to
// which no pointer leads.
struct FailOn {
  std::string_view word, meaning;
  VerdictKind kind = VerdictKind::leak;
  GrowthClass growth = GrowthClass::none;
  bool lost = false;
};
std::span<const FailOn> fail_on_words();

struct GateOptions {
  std::vector<FailOn> fail_on;         // the first that matches is the rule
  double min_rate = 0;                 // bytes per second; slower ones pass
  std::optional<int64_t> most_leaked;  // fails if all leaks together have more bytes
  // The noise floor. A leak is above it anyway, except for what an ended process left: that has a
  // floor only if the user gave one.
  int64_t min_bytes = 4096, min_blocks = 8;
  bool has_given_floor = false;

  bool fails_on_lost() const;
  bool fails_only_on_lost() const;
};

// What failed in an earlier run, by NamedVerdict::key.
using Baseline = std::unordered_map<std::string, Verdict>;
Baseline baseline_of(std::span<const NamedVerdict> stacks, const GateOptions& options);

// True if `now` is clearly worse than `before`: the 95 % interval of its rate is wholly above the
// other. Without two rates, as in short runs: more than twice the bytes.
bool is_clearly_worse(const Verdict& now, const Verdict& before);

// What comes after the last case: leaks that fail only together, sums, and those that failed first.
void finish_check(LeakCheck& check, const GateOptions& options, const Suppressions& suppressions);

// Sets cases, sums, leaked bytes, most_leaked, suppressions and gone. `baseline` may be null.
LeakCheck check_leaks(std::span<const NamedVerdict> stacks, const GateOptions& options,
                      Suppressions& suppressions, const Baseline* baseline);

}  // namespace memflame
