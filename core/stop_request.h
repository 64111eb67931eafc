// SPDX-License-Identifier: BSD-2-Clause
// Whether a signal has asked memflame to end while a thread waits for somebody else, such as the
// reader of a pipe. The run takes its signals from a descriptor (probes/run/run_signals.h),
// commands by handlers, and some block them: a thread that waits sees all three.
#pragma once

namespace memflame {

// Counts a signal that was taken. Safe in a signal handler.
void note_stop() noexcept;

class StopRequest {
 public:
  StopRequest();
  // True if SIGINT, SIGTERM, SIGHUP or SIGQUIT was taken since this object was made, or is pending
  // because it is blocked.
  bool is_made() const;

 private:
  unsigned before_;
};

}  // namespace memflame
