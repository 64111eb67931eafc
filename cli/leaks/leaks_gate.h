// SPDX-License-Identifier: BSD-2-Clause
// memflame leaks --fail-on: whether a build may pass, for live runs and for recordings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/files/output_file.h"
#include "collapse/verdicts/gate.h"
#include "core/losses.h"

namespace memflame {

struct LeaksGate {
  GateOptions options;
  Suppressions suppressions;
  std::optional<Baseline> baseline;
  std::string baseline_path;
  std::vector<std::string> reports;     // paths
  std::vector<std::string> conditions;  // as typed
};

// What a check knows of the run beside its verdicts.
struct CheckedRun {
  std::string source;  // the command line, or the file
  double seconds = 0;
  std::string sampling;            // "" if all figures are exact
  std::vector<std::string> notes;  // those that begin with "filtered: " make a pass doubtful
  Losses losses;
  bool is_complete = true;
  std::vector<std::string> doubts{};  // further ones
};

// Checks, writes the reports, and prints at most `most` failing stacks on standard error. Returns
// whether the run passes. Throws Error if a report cannot be written.
bool passes(LeaksGate& gate, std::span<const NamedVerdict> stacks, const CheckedRun& run,
            size_t most, Readers readers);
// The same for what was checked already.
bool passes(const LeaksGate& gate, LeakCheck check, const CheckedRun& run, size_t most,
            Readers readers);

}  // namespace memflame
