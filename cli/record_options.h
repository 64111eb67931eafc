// SPDX-License-Identifier: BSD-2-Clause
// The options of commands that record.
#pragma once

#include <boost/program_options.hpp>

#include "cli/commands.h"
#include "cli/probe_request.h"
#include "cli/runs/recorder.h"

namespace memflame {

boost::program_options::options_description record_options();

// Reads them into the options and the request, which writes no picture. Throws Error(usage).
void read_record_options(const boost::program_options::variables_map& values,
                         RecordOptions& options, Request& request);

// Sets the probes that run beside the first one, which it returns, as --probes names them. Throws
// Error(usage).
const Probe& set_probes(Extension& extension, const Arguments& arguments);

// Throws Error(usage) if events are asked for that the probe does not have.
void require_events(const Probe& probe, const Request& request);

}  // namespace memflame
