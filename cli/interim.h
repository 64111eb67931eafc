// SPDX-License-Identifier: BSD-2-Clause
// Pictures of a run that goes on: SIGUSR1 asks for one.
#pragma once

#include <atomic>
#include <thread>

#include "cli/probe_cmd.h"

namespace memflame {

// Writes what there is so far beside the output: heap.1.svg, heap.2.svg for heap.svg. Where the
// output is not a file, it is memflame-PID.1.svg in the current folder. Names are looked up and the
// file is written on a thread of their own, so that the kernel's records are read meanwhile.
class Interim : public Watcher {
 public:
  explicit Interim(const Request& request) : request_(request) {}

  bool look(Session& session, double seconds) override;
  void asked(Session& session, double seconds) override;
  void end(Session&, double) override;
  bool wants_results(Recording&) override { return true; }

 private:
  void start(Session& session, double seconds);
  void write(Recording& recording) const;
  void say(const std::string& text) const;

  const Request& request_;
  unsigned number_ = 0;  // of the last one
  bool again_ = false;   // asked for while one was being written
  std::atomic<bool> is_busy_ = false;
  std::jthread writer_;  // last member: it uses the others
};

}  // namespace memflame
