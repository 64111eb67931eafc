// The command line of a probe, as values.
#pragma once

#include <optional>
#include <string>

#include "cli/commands.h"
#include "probes/options.h"
#include "probes/probe.h"
#include "render/output.h"

namespace memflame {

// Everything the command line says.
struct Request {
  ProbeOptions probe;
  RenderOptions render;
  const Output* format = nullptr;
  std::string output, summary;
  bool strict = false, verbose = false, pid_in_root = false;
};

// Reads `arguments`, and the COMMAND behind "--" with all its options. Null when they ask for the
// help or the version, which is printed then. Throws Error(usage).
std::optional<Request> read_request(const Probe& probe, const Arguments& arguments);

}  // namespace memflame
