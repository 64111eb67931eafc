// SPDX-License-Identifier: BSD-2-Clause
// memflame leaks, over time: which of the stacks that hold memory leak, and in which order a report
// shows them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/runs/run_ledger.h"
#include "probes/run/snapshot.h"

namespace memflame {

// Whether the stack has blocks that are old enough to be reported.
inline bool is_old(const LiveStack& stack) { return stack.old.bytes != 0 || stack.old.blocks != 0; }

enum class LeaksOrder : uint8_t { evidence, growth, size, count };
std::string_view in_words(LeaksOrder order);  // "evidence", "growth", "size", "count"
struct JudgedStack {
  const LiveStack* stack = nullptr;  // of a snapshot
  std::optional<Verdict> verdict;    // none: not judged
};

struct JudgedStacks {
  std::vector<JudgedStack> shown;  // in order
  // Counts of all that were judged, also those that are not shown.
  size_t judged = 0, leaks = 0, unsure = 0;
  size_t too_small = 0;          // not judged: the others are larger
  double leaked_per_second = 0;  // bytes

  void count(const Verdict& verdict);
  void excuse(const Verdict& leak);  // it was counted, and has not leaked
};

// "1 stack leaks 19.0 KiB/s, 3 cannot be told yet"; "" if none was judged.
std::string in_words(const JudgedStacks& stacks);

class LeaksVerdicts {
 public:
  // `with_ages`: blocks keep the time of their allocation; there are no verdicts without it.
  LeaksVerdicts(bool with_ages, const VerdictOptions& options)
      : ledger_(with_ages), options_(options) {}

  // The looks that the verdicts rest on.
  RunLedger& looks() { return ledger_; }

  // The stacks of a snapshot that hold old blocks, at most `most` of them, in this order.
  JudgedStacks ranked(const LiveRun& run, const Snapshot& snapshot, LeaksOrder order,
                      size_t most) const;

 private:
  std::optional<Verdict> judge(const LiveRun& run, const LiveStack& stack) const;

  RunLedger ledger_;
  VerdictOptions options_;
};

}  // namespace memflame
