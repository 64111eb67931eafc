// SPDX-License-Identifier: BSD-2-Clause
// From a command line that was understood to results that are written.
#pragma once

#include "cli/probe_request.h"
#include "core/profile.h"
#include "core/recording.h"
#include "probes/run.h"

namespace memflame {

// Somebody who looks at a run, and has a say in what is written at its end.
class Watcher : public Observer {
 public:
  // May change the recording. False: neither picture nor summaries are wanted.
  virtual bool wants_results(Recording& recording) = 0;
};

// Names of code, then of stacks. Without debug servers it takes as long as the files here take.
Profile profile_of(Recording& recording, const Request& request, bool debug_servers = true);

// What is written in the request's format, given profile_of() the recording: transformed, and with
// addresses where the format has a place for them.
Profile drawn_profile(const Recording& recording, const Profile& profile, const Request& request);

// Runs the probe and returns the exit code; sets who may read the outputs. Without a watcher,
// SIGUSR1 gives pictures (interim.h). Throws Error.
int run_request(const Probe& probe, Request& request, Watcher* watcher);

}  // namespace memflame
