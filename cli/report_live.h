// SPDX-License-Identifier: BSD-2-Clause
// memflame report --live: the report of a run that goes on, in a browser.
#pragma once

#include <boost/program_options.hpp>

#include "cli/commands.h"

namespace memflame {

// --live, --port
boost::program_options::options_description live_options();

// Runs until the target ends or a signal stops it; in the first case, shows the report until a
// signal comes. Returns the exit code of the run. Throws Error.
int run_live_report(const Arguments& arguments);

}  // namespace memflame
