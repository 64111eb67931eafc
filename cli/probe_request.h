// SPDX-License-Identifier: BSD-2-Clause
// The command line of a probe, as values.
#pragma once

#include <boost/program_options.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/command_page.h"
#include "cli/commands.h"
#include "cli/runs/request.h"
#include "probes/probe.h"

namespace memflame {

// A command built on a probe.
struct Extension {
  std::string command;
  CommandPage page;       // without options
  std::string formats;    // help of --format
  std::string no_target;  // the alternative if a target is missing, after the choices
  boost::program_options::options_description visible, hidden;
  const char* positional = nullptr;      // one of the hidden ones
  std::vector<const Probe*> beside;      // probes that run, too: their options are taken as well
  bool draws = true;                     // takes the options of pictures
  std::string output = "write to FILE";  // help of --output, if it does not draw
  // Reads its own options, and the format.
  std::function<void(const boost::program_options::variables_map&, Request&)> read;
};

// With the options of the probe, and those of the extension.
CommandPage page_of(const Probe& probe, const Extension* extension);

// Reads `arguments`, and the COMMAND after "--" with all its options. Null if they ask for the help
// or the version, which is then printed. Throws Error(usage).
std::optional<Request> read_request(const Probe& probe, const Arguments& arguments,
                                    const Extension* extension = nullptr);

}  // namespace memflame
