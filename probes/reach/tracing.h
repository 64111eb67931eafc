// SPDX-License-Identifier: BSD-2-Clause
// ptrace(2), as far as a scan needs it. Rules that hold everywhere:
//
//   - Threads are seized, never attached, so nobody sends SIGSTOP; and never with
//     PTRACE_O_EXITKILL, so a program outlives memflame.
//   - All of it runs in a thread of its own, which ends soon. When the thread of a tracer ends, the
//     kernel lets go of all threads that it traces, in whatever state they are.
//   - What a wait would take from a process's parent is only looked at: the status of its first
//     thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace memflame {

struct StoppedThread {
  pid_t tid = 0;
  uint64_t sp = 0, fs_base = 0;
  std::vector<uint64_t> registers;  // all of them, also those of vectors
};

// A process whose threads are all stopped.
struct HeldProcess {
  std::vector<StoppedThread> threads;
  uint64_t since_ns = 0;  // when the first of them was interrupted
  std::string why_not;    // why it could not be stopped; "" if it is
};

// Stops all threads of a process and holds them, by a thread of its own (see above).
class StoppedProcess {
 public:
  // Waits at most two seconds until they are stopped.
  explicit StoppedProcess(pid_t pid);
  ~StoppedProcess() { let_go(); }
  StoppedProcess(const StoppedProcess&) = delete;
  StoppedProcess& operator=(const StoppedProcess&) = delete;

  const HeldProcess& held();
  // Signals that arrived meanwhile are delivered; a process that was stopped stays so.
  void let_go();

 private:
  std::promise<HeldProcess> stopped_;
  std::promise<void> may_go_;
  std::optional<HeldProcess> held_;
  std::thread thread_;  // last member: starts when all others are there
};

// ptrace(2) with a number as its data, or a pointer to it.
long trace(int request, pid_t tid, uint64_t data);

// What ptrace says of a thread of this tracer, without taking it from anybody.
struct TraceEvent {
  pid_t tid = 0;
  bool has_ended = false;
  int signal = 0;  // of a stop
  int event = 0;   // PTRACE_EVENT_…; 0 = the delivery of a signal
};
// The next event of a thread, or of any thread with tid 0. With `waits`, none only if there is no
// thread, or after a signal. A stop is taken; so is the end of a thread that is not `process`.
std::optional<TraceEvent> next_event(pid_t tid, pid_t process, bool waits);

// The registers of a stopped thread; none if it is gone.
std::optional<StoppedThread> read_thread(pid_t tid);
// Not those that are about to end, or have ended.
std::vector<pid_t> threads_of(pid_t pid);

// Why PTRACE_SEIZE of the process ended with this error, for people.
std::string refusal(pid_t pid, int error);

// Why the process cannot be traced; "" if it can be. Seizes its first thread for a moment, which
// the thread does not notice. It is free again when this returns.
std::string why_not_traceable(pid_t pid);

}  // namespace memflame
