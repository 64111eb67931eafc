// SPDX-License-Identifier: BSD-2-Clause
// Writes pictures while a run goes on: at SIGUSR1, and when a condition of --when becomes true.
#pragma once

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "cli/runs/run_request.h"
#include "cli/runs/run_verdicts.h"
#include "cli/runs/triggers.h"

namespace memflame {

// The result so far goes next to the output: heap.1.svg, heap.2.svg for heap.svg. If the output is
// not a file, the picture is memflame-PID.1.svg in the current folder. A thread of its own finds
// names and writes the file, so that the kernel's records are read meanwhile.
class Interim : public Watcher {
 public:
  explicit Interim(const Request& request);

  // Throws Error if the kernel does not give a figure that a condition needs.
  void begin(LiveRun& run) override;
  bool look(LiveRun& run, double seconds) override;
  void asked(LiveRun& run, double seconds) override;
  void end(LiveRun& run, double seconds) override;
  bool wants_results(Recording&) override { return true; }
  // If one is being written, another one follows.
  std::future<std::string> picture(LiveRun& run, double seconds) override;
  std::optional<JudgedRun> judged() const override { return verdicts_.so_far(); }

 private:
  std::string due(LiveRun& run, double seconds);
  void start(LiveRun& run, double seconds, const std::string& why);
  void finish_writing();
  void write(Recording& recording, const JudgedRun* judged, unsigned number,
             const std::string& why) const;
  void ask_again(const std::string& why);
  std::string path_of(unsigned number) const;
  void say(const std::string& text) const;

  const Request& request_;
  Triggers triggers_;
  RunVerdicts verdicts_;
  unsigned number_ = 0;               // of the last picture
  std::optional<std::string> again_;  // why another picture was requested while one was written
  std::vector<std::promise<std::string>> waiting_;  // for the next picture
  std::atomic<bool> is_busy_ = false;
  std::jthread writer_;  // last member, so that it ends before the members that it uses
};

}  // namespace memflame
