// SPDX-License-Identifier: BSD-2-Clause
// What signals do to a run.
//
// SIGINT, SIGTERM, SIGHUP and SIGQUIT end the measurement, not memflame: its output is still
// written. SIGUSR1 asks for what there is so far, SIGUSR2 is ignored with a word. SIGPIPE is
// ignored: an output or a standard error that is closed fails when it is written.
#pragma once

#include <csignal>

#include "probes/unique_fd.h"

namespace memflame {

class RunSignals {
 public:
  RunSignals();
  // Signals that stop something work as before, those that come from now on: a second Ctrl-C
  // while the measurement was ending does not lose it. SIGUSR1 and SIGUSR2 stay blocked: they come
  // too late for this run, and would end it while its output is written.
  ~RunSignals();
  RunSignals(const RunSignals&) = delete;
  RunSignals& operator=(const RunSignals&) = delete;

  // The next signal that has come, or 0.
  int arrived() const;

 private:
  sigset_t before_{};
  UniqueFd fd_;
};

// Does it end the measurement?
bool is_stop(int signal);
// Says on standard error that a signal has no meaning.
void say_unused(int signal);

}  // namespace memflame
