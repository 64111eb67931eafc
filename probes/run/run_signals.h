// SPDX-License-Identifier: BSD-2-Clause
// The effect of signals on a run.
//
// SIGINT, SIGTERM, SIGHUP and SIGQUIT end the measurement, not memflame: its output is still
// written. Before it counts they end memflame (early_stop.h). SIGUSR1 requests the result so far,
// SIGUSR2 is ignored with a message. SIGPIPE is ignored: a closed output or standard error fails
// when it is written.
#pragma once

#include <csignal>

#include "core/unique_fd.h"

namespace memflame {

class RunSignals {
 public:
  RunSignals();
  // Discards the signals that arrived: a second Ctrl-C while the measurement was ending does not
  // lose the result. Stop signals that come later work as usual. SIGUSR1 and SIGUSR2 stay blocked:
  // they come too late for this run, and would end it while its output is written.
  ~RunSignals();
  RunSignals(const RunSignals&) = delete;
  RunSignals& operator=(const RunSignals&) = delete;

  // The next signal that arrived, or 0.
  int arrived() const;

 private:
  sigset_t before_{};
  UniqueFd fd_;
};

// Whether it ends the measurement.
bool is_stop(int signal);
sigset_t stop_signals();
// Prints on standard error that a signal has no meaning.
void say_unused(int signal);

}  // namespace memflame
