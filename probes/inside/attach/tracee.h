// SPDX-License-Identifier: BSD-2-Clause
// One thread of another process, held by ptrace(2), and functions that are called in it. For one
// thread of memflame, which must end soon: see probes/reach/tracing.h and own_process.h.
//
// A call runs on a stack of its own, so that it does not matter how small the thread's stack is,
// and returns to address 0, which memflame sees as SIGSEGV. Signals wait meanwhile, as the thread
// has them blocked. Afterwards all registers are as before, also those of vectors, and errno. A
// system call that was interrupted goes on. That includes the calls which fail with EINTR when a
// thread is traced (epoll_wait(), signal(7)): they are begun anew.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "probes/inside/attach/remote_memory.h"

namespace memflame {
struct TraceEvent;
}

namespace memflame::inside {

void pause_for(uint64_t ns);

class Tracee {
 public:
  enum class State : uint8_t {
    held,
    running,  // it will stop, but has not done so within 5 ms: see catch_up()
    gone      // it has ended, cannot be traced, or is about to take a signal
  };
  // `meanwhile` is called while a call runs: other threads may have to be let go of, as the call
  // may need locks that they hold.
  Tracee(pid_t pid, pid_t tid, std::function<void()> meanwhile);
  ~Tracee() { let_go(); }
  Tracee(const Tracee&) = delete;
  Tracee& operator=(const Tracee&) = delete;

  State state() const { return state_; }
  // Whether it has stopped meanwhile, or ended; it must not be destroyed before.
  State catch_up();

  pid_t pid() const { return pid_; }
  pid_t tid() const { return tid_; }
  const user_regs_struct& registers() const { return registers_; }
  // The number of the system call that was interrupted; -1 if the thread was in its own code.
  long system_call() const { return static_cast<long>(registers_.orig_rax); }

  // Runs a function in the thread. Throws Error if the process ended, or the call did not return.
  uint64_t call(uint64_t function, std::initializer_list<uint64_t> arguments, uint64_t stack);
  // Puts everything back. The thread runs on.
  void let_go();

  uint64_t held_ns() const;  // for how long it has been held, or was

 private:
  void take(const TraceEvent& event, uint64_t since_ns);
  void begin_calls();
  void wait_for_return();
  void finish_system_call();

  pid_t pid_, tid_;
  std::function<void()> meanwhile_;
  State state_ = State::gone;
  bool has_called_ = false;
  uint64_t since_ns_ = 0, until_ns_ = 0;
  user_regs_struct registers_{};
  uint64_t signals_ = 0;         // blocked by the thread itself
  std::vector<uint64_t> extra_;  // XSTATE
};

// What is needed of the C library for calls.
struct LibraryFunctions {
  uint64_t map = 0, unmap = 0, system_call = 0, error_place = 0;
  uint64_t load = 0, find = 0, error_text = 0;  // dlopen(), dlsym(), dlerror()
};

// Calls in a thread, with memory for their stack and for what they are given. The thread's errno is
// put back at the end.
class RemoteCalls {
 public:
  static constexpr uint64_t stack_bytes = 256 << 10;

  // Throws Error.
  RemoteCalls(Tracee& tracee, const LibraryFunctions& functions);
  ~RemoteCalls();
  RemoteCalls(const RemoteCalls&) = delete;
  RemoteCalls& operator=(const RemoteCalls&) = delete;

  uint64_t call(uint64_t function, std::initializer_list<uint64_t> arguments);
  // The result, or a negative error number.
  int64_t system_call(long number, std::initializer_list<uint64_t> arguments);
  // The address of a copy of this text in the process; it is there until the next one.
  uint64_t text(const std::string& text);
  const RemoteMemory& memory() const { return memory_; }
  const LibraryFunctions& functions() const { return functions_; }

 private:
  Tracee& tracee_;
  LibraryFunctions functions_;
  RemoteMemory memory_;
  uint64_t memory_at_ = 0, own_stack_ = 0;
  uint64_t error_place_ = 0;
  uint32_t error_ = 0;
};

}  // namespace memflame::inside
