// SPDX-License-Identifier: BSD-2-Clause
// Traces a command that memflame starts, and holds it when it is about to end: each thread stops at
// PTRACE_EVENT_EXIT, where its memory and registers are still there, and before the kernel's exit
// event (sched_process_exit), which ends its space in the BPF programs. The rules are in tracing.h.
//
// Until then signals are passed on, groups that are stopped stay so (PTRACE_LISTEN), threads that
// end one by one do so, and exec goes on. Processes that the command starts are not traced.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "probes/reach/tracing.h"

namespace memflame {

class ExitWatch {
 public:
  // Begins to trace. Throws Error if that is not allowed, which names the option that asked for it.
  ExitWatch(pid_t pid, const std::string& option);
  // Lets go of the process, wherever it is.
  ~ExitWatch() { stop(); }
  ExitWatch(const ExitWatch&) = delete;
  ExitWatch& operator=(const ExitWatch&) = delete;

  // The process, if it is held at its end now: until let_go().
  std::optional<HeldProcess> held();
  void let_go();
  // Traces no longer. The process runs on.
  void stop();

 private:
  void run();
  void watch();
  void on_event(const TraceEvent& event);
  void on_exit(pid_t tid);
  void on_clone_stop(pid_t tid);
  bool is_complete();
  bool calls_exec(const std::vector<pid_t>& threads) const;
  void hold();
  void resume_exits();
  void go_on(pid_t tid, int signal) const;
  uint64_t since_ns() const;

  pid_t pid_;

  // Used by the tracing thread only.
  struct Exit {
    StoppedThread thread;
    uint64_t since_ns = 0;
  };
  std::map<pid_t, Exit> exits_;  // threads held at their end
  bool has_begun_ = false;       // it has called exec: before that it is a copy of memflame
  bool whole_process_ends_ = false;
  bool is_done_ = false;  // nothing more to trace

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_seized_ = false;
  std::string why_not_;  // PTRACE_SEIZE failed
  std::optional<HeldProcess> held_;
  bool may_go_ = false;
  std::atomic<bool> stops_ = false, has_ended_ = false;

  std::thread thread_;  // last member: starts when all others are there
};

}  // namespace memflame
