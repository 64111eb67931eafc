// SPDX-License-Identifier: BSD-2-Clause
// memflame leaks --fail-on: whether a build may pass, for live runs and for recordings.
#pragma once

#include <boost/program_options.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/output_file.h"
#include "collapse/verdicts/gate.h"
#include "core/losses.h"

namespace memflame {

// --min-bytes, --min-blocks, --tail, --warmup.
boost::program_options::options_description verdict_options();
// Throws Error(usage).
VerdictOptions read_verdict_options(const boost::program_options::variables_map& values);

// --fail-on and what goes with it.
boost::program_options::options_description gate_options();

// The first of all these options that was given: "--tail"; "" if none was.
std::string verdict_option_given(const boost::program_options::variables_map& values);

struct LeaksGate {
  GateOptions options;
  Suppressions suppressions;
  std::optional<Baseline> baseline;
  std::string baseline_path;
  std::vector<std::string> reports;     // paths
  std::vector<std::string> conditions;  // as typed
};

// None if nothing may fail. Reads the files of suppressions and the baseline. Throws Error.
std::optional<LeaksGate> read_gate(const boost::program_options::variables_map& values,
                                   const VerdictOptions& verdicts);

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
