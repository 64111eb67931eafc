// SPDX-License-Identifier: BSD-2-Clause
// What is measured, and what is written of it, as values.
#pragma once

#include <string>
#include <vector>

#include "cli/files/output_file.h"
#include "cli/runs/triggers.h"
#include "collapse/tidy/tidy.h"
#include "probes/options/options.h"
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

}  // namespace memflame
