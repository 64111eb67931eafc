// SPDX-License-Identifier: BSD-2-Clause
// memflame alloc|brk|mmap|fault|kernel: one command line for all probes.
#include "cli/commands.h"
#include "cli/probe_request.h"
#include "cli/runs/run_request.h"

namespace memflame {

int run_probe_command(const Probe& probe, const Arguments& arguments) {
  std::optional<Request> request = read_request(probe, arguments);
  return request ? run_request(probe, *request, nullptr) : 0;
}

}  // namespace memflame
