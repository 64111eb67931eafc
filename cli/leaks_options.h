// SPDX-License-Identifier: BSD-2-Clause
// The options of `memflame leaks` that say what leaks, and what may fail.
#pragma once

#include <boost/program_options.hpp>
#include <optional>
#include <string>

#include "cli/leaks/leaks_gate.h"
#include "cli/leaks/leaks_verdicts.h"

namespace memflame {

// --min-bytes, --min-blocks, --tail, --warmup.
boost::program_options::options_description verdict_options();
// Throws Error(usage).
VerdictOptions read_verdict_options(const boost::program_options::variables_map& values);

// --fail-on and what goes with it.
boost::program_options::options_description gate_options();

// The first of all these options that was given: "--tail"; "" if none was.
std::string verdict_option_given(const boost::program_options::variables_map& values);

// None if nothing may fail. Reads the files of suppressions and the baseline. Throws Error.
std::optional<LeaksGate> read_gate(const boost::program_options::variables_map& values,
                                   const VerdictOptions& verdicts);

// What --sort says. Without the ages of blocks there are no verdicts, so the largest stacks come
// first. Throws Error(usage).
LeaksOrder leaks_order(const boost::program_options::variables_map& values, bool has_ages);

}  // namespace memflame
