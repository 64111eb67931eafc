// SPDX-License-Identifier: BSD-2-Clause
// Options that choose what is watched: -p, --comm, a command and the like.
#pragma once

#include <boost/program_options.hpp>
#include <string>

#include "cli/commands.h"
#include "probes/options/options.h"

namespace memflame {

boost::program_options::options_description target_options();

// "-p PID, --comm NAME or -- COMMAND"
std::string target_choices();

// `command`: the words behind "--". Throws Error(usage).
Target read_target(const boost::program_options::variables_map& values, const Arguments& command);

// The ids of -p: "12" or "12,13". Throws Error(usage).
std::vector<pid_t> parse_pids(const std::string& text);

// To be called when all options are read. Throws Error(usage) if others contradict the target.
void check_target(const Target& target);

}  // namespace memflame
