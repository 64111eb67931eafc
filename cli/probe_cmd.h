// SPDX-License-Identifier: BSD-2-Clause
// From a parsed command line to written results.
#pragma once

#include "cli/probe_request.h"
#include "core/profile.h"
#include "core/recording.h"
#include "probes/run/run.h"

namespace memflame {

// Observes a run and may change its final output.
class Watcher : public Observer {
 public:
  // May change the recording. False: neither picture nor summaries are written.
  virtual bool wants_results(Recording& recording) = 0;
};

// Names the code, then the stacks. Without debug servers it takes as long as the local files take.
Profile profile_of(Recording& recording, const Request& request, bool debug_servers = true);

// What is written in the request's format, given profile_of() the recording: transformed, and with
// addresses if the format can hold them.
Profile drawn_profile(const Recording& recording, const Profile& profile, const Request& request);

// Runs the probe and returns the exit code; sets who may read the outputs. Without a watcher,
// SIGUSR1 writes pictures (interim.h). Throws Error.
int run_request(const Probe& probe, Request& request, Watcher* watcher);

}  // namespace memflame
