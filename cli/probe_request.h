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
#include "cli/output_file.h"
#include "cli/triggers.h"
#include "collapse/tidy/tidy.h"
#include "probes/options.h"
#include "probes/probe.h"
#include "probes/processes/command.h"
#include "probes/run/run.h"
#include "render/output.h"
#include "render/transform.h"

namespace memflame {

// Everything the command line says.
struct Request {
  std::string command;  // the word after "memflame"
  ProbeOptions probe;
  std::string first;             // the name of the probe
  std::vector<ProbeRun> beside;  // further probes of the same run
  RenderOptions render;
  TidyOptions tidying;  // of what is written, not of the summary
  Transform transform;
  const Output* format = nullptr;  // null: no picture
  std::string output, summary;
  Readers readers = Readers::by_umask;  // of both; run_request() sets it
  std::vector<Condition> conditions;    // that ask for a picture of the run so far
  unsigned keep = 0;                    // the newest of them that are kept; 0 = all
  CommandStreams streams;               // of the command
  bool marks_verdicts = false;          // in the output: looks at the run to know them
  // With Collect::go: of Go programs, as many as there are, see run_go_heaps(). It was decided
  // already who collects.
  bool go_heaps = false;
  bool strict = false, verbose = false, pid_in_root = false;
};

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
