// SPDX-License-Identifier: BSD-2-Clause
// From a request to written results.
#pragma once

#include <future>
#include <optional>
#include <string>

#include "cli/runs/request.h"
#include "collapse/verdicts/marks.h"
#include "core/profile.h"
#include "core/recording.h"
#include "probes/run/run.h"

namespace memflame {

// Observes a run and may change its final output.
class Watcher : public Observer {
 public:
  // Counting has ended, and memflame has what it saw.
  virtual void finished(const RunInfo&) {}
  // May change the recording. False: neither picture nor summaries are written.
  virtual bool wants_results(Recording& recording) = 0;
  // The results are written; the recording has its names now.
  virtual void wrote_results(const Recording&) {}
  // Verdicts for the picture; none if there are none. Called once counting has ended.
  virtual std::optional<JudgedRun> judged() const { return std::nullopt; }
  // The user asked for exit code 5 in such a case. Asked after all results are written.
  virtual bool has_failed() const { return false; }

  // What `memflame control` asks for, at `seconds` of the run. Throws Error if this run has none.
  //
  // Names this moment. The name is clean text.
  virtual void mark(const std::string& name, double seconds);
  // Writes the result so far; gives the file's name, as a line, when the file is complete.
  virtual std::future<std::string> picture(LiveRun& run, double seconds);
};

std::string host_name();  // of this machine; "" if it has none

// What the request says of a run before it begins.
Meta meta_of(const Request& request);

// Names the recording's code and folds it, with the verdicts of `judged` if it is not null. Without
// debug servers the time depends on local files only.
Profile profile_of(Recording& recording, const Request& request, bool debug_servers = true,
                   const JudgedRun* judged = nullptr);

// The profile to write in the request's format: `profile`, which is profile_of() the recording, as
// the options transform it. It has addresses if the format can hold them.
Profile drawn_profile(const Recording& recording, const Profile& profile, const Request& request);

// Whether the target is a Go program whose own heap profile is to be read (--collect go, or by
// default where no other option stands against it); says so on standard error, and sets `collect`.
// Throws Error(usage) if it was asked for and cannot be.
bool settle_go_heap(const Probe& probe, Request& request);

// Runs the probe and returns the exit code; sets who may read the outputs. Without a watcher,
// SIGUSR1 writes pictures (interim.h). Throws Error.
int run_request(const Probe& probe, Request& request, Watcher* watcher);

}  // namespace memflame
