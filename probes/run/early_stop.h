// SPDX-License-Identifier: BSD-2-Clause
// Ends memflame at once when it is stopped before it counts.
//
// Until then nothing is lost, while loading programs and attaching take seconds on a busy machine.
// A thread waits for SIGINT, SIGTERM, SIGHUP and SIGQUIT, which RunSignals blocks, and lets the
// signal kill memflame. The kernel takes probes away with it, and a process of its own brings the
// agent in (attacher.h), so watched programs are left as after SIGKILL. A command that has not
// begun never does.
#pragma once

#include <thread>

#include "core/unique_fd.h"
#include "probes/options/options.h"
#include "probes/run/run_signals.h"

namespace memflame {

class EarlyStop {
 public:
  // To be made after `signals`. Rules of `watch` keep the signals: the process above them ends
  // them.
  EarlyStop(const RunSignals& signals, const ProbeOptions& options);
  ~EarlyStop() { counts(); }
  EarlyStop(const EarlyStop&) = delete;
  EarlyStop& operator=(const EarlyStop&) = delete;

  // From now on stop signals end the measurement (RunSignals).
  void counts();

 private:
  UniqueFd stops_, done_;
  std::thread waits_;
};

}  // namespace memflame
