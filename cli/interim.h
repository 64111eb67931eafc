// SPDX-License-Identifier: BSD-2-Clause
// Pictures while a run goes on: at SIGUSR1, and when triggers ask for one.
#pragma once

#include <atomic>
#include <thread>

#include "cli/probe_cmd.h"
#include "cli/triggers.h"

namespace memflame {

// Writes the result so far next to the output: heap.1.svg, heap.2.svg for heap.svg. If the output
// is not a file, the picture is memflame-PID.1.svg in the current folder. A thread of its own looks
// up names and writes the file, so that the kernel's records are read meanwhile.
class Interim : public Watcher {
 public:
  explicit Interim(const Request& request);

  // Throws Error if a figure that a condition needs is not to be had.
  void begin(LiveRun& run) override;
  bool look(LiveRun& run, double seconds) override;
  void asked(LiveRun& run, double seconds) override;
  void end(LiveRun&, double) override;
  bool wants_results(Recording&) override { return true; }

 private:
  std::string due(LiveRun& run, double seconds);
  void start(LiveRun& run, double seconds, const std::string& why);
  void write(Recording& recording, unsigned number, const std::string& why) const;
  void ask_again(const std::string& why);
  std::string path_of(unsigned number) const;
  void say(const std::string& text) const;

  const Request& request_;
  Triggers triggers_;
  unsigned number_ = 0;               // of the last one
  std::optional<std::string> again_;  // requested while one was being written; why
  std::atomic<bool> is_busy_ = false;
  std::jthread writer_;  // last member: it uses the others
};

}  // namespace memflame
