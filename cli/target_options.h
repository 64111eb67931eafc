// SPDX-License-Identifier: BSD-2-Clause
// Options that choose what is watched: -p, --comm, a command and the like.
#pragma once

#include <boost/program_options.hpp>
#include <string>

#include "cli/commands.h"
#include "probes/options.h"
#include "probes/probe.h"

namespace memflame {

boost::program_options::options_description target_options(const Probe& probe);

// "-p PID, --comm NAME or -- COMMAND"
std::string target_choices();

// `command`: the words after "--". Throws Error(usage).
Target read_target(const Probe& probe, const boost::program_options::variables_map& values,
                   const Arguments& command);

// " -p 12,13", " --comm NAME", …; " (whole system)" if nothing was named.
std::string as_typed(const Target& target);

}  // namespace memflame
