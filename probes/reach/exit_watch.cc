// SPDX-License-Identifier: BSD-2-Clause
#include "probes/reach/exit_watch.h"

#include <pthread.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>

#include "core/error.h"
#include "probes/processes/spaces.h"
#include "probes/reach/tracing.h"
#include "probes/system/procfs.h"

namespace memflame {
namespace {

constexpr uint64_t ms = 1'000'000;
// The thread that ends a process comes to its end at once. So if none has come by then, the others
// were ended by an exec.
constexpr uint64_t exec_patience_ns = 200 * ms;
constexpr uint64_t end_patience_ns = 2000 * ms;

// Ends a wait of the tracing thread; it has no other meaning.
int wake_signal() { return SIGRTMIN + 3; }

void prepare_wake_signal() {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  ::sigaction(wake_signal(), &action, nullptr);  // without SA_RESTART
}

bool stops_a_group(int signal) {
  return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

// Whether the thread ends because its process ends: by exit_group(2), or by a signal.
bool ends_process(pid_t tid, const StoppedThread& thread) {
  unsigned long code = 0;
  trace(PTRACE_GETEVENTMSG, tid, reinterpret_cast<uintptr_t>(&code));
  constexpr size_t orig_rax = offsetof(user_regs_struct, orig_rax) / sizeof(uint64_t);
  return (code & 0x7f) != 0 || thread.registers[orig_rax] == SYS_exit_group;
}

bool ends_alone(const StoppedThread& thread) {
  constexpr size_t orig_rax = offsetof(user_regs_struct, orig_rax) / sizeof(uint64_t);
  return thread.registers[orig_rax] == SYS_exit;
}

}  // namespace

ExitWatch::ExitWatch(pid_t pid, const std::string& option) : pid_(pid) {
  prepare_wake_signal();
  thread_ = std::thread([this] { run(); });
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return is_seized_ || !why_not_.empty(); });
  if (why_not_.empty()) return;
  lock.unlock();
  stop();
  throw Error(option + ": " + why_not_, ExitCode::requirement);
}

void ExitWatch::run() {
  const bool seized =
      trace(PTRACE_SEIZE, pid_, PTRACE_O_TRACEEXIT | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC) == 0;
  std::string why = seized ? "" : refusal(pid_, errno);
  {
    const std::lock_guard lock(mutex_);
    is_seized_ = seized;
    why_not_ = std::move(why);
  }
  changed_.notify_all();
  if (is_seized_) watch();
  has_ended_ = true;
}

void ExitWatch::watch() {
  while (!stops_ && !is_done_) {
    const std::optional<TraceEvent> event = next_event(0, pid_, exits_.empty());
    if (event) {
      on_event(*event);
    } else if (exits_.empty()) {
      if (errno == ECHILD) return;
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    if (!exits_.empty() && is_complete()) hold();
  }
}

void ExitWatch::on_event(const TraceEvent& event) {
  if (event.has_ended) {
    exits_.erase(event.tid);
    is_done_ = event.tid == pid_;  // killed, and gone before it stopped
    return;
  }
  switch (event.event) {
    case 0:
      return go_on(event.tid, event.signal);
    case PTRACE_EVENT_EXIT:
      return on_exit(event.tid);
    case PTRACE_EVENT_STOP:
      if (stops_a_group(event.signal)) {
        trace(PTRACE_LISTEN, event.tid, 0);
        return;
      }
      return on_clone_stop(event.tid);
    case PTRACE_EVENT_EXEC:
      has_begun_ = true;
      resume_exits();  // of the threads that exec has ended
      break;
    default:
      break;
  }
  go_on(event.tid, 0);
}

// The kernel also traces a process that begins by clone() with a signal other than SIGCHLD.
void ExitWatch::on_clone_stop(pid_t tid) {
  const std::string status = read_file(proc_path(tid, "status"));
  const bool is_ours = status_field(status, "Tgid") == std::to_string(pid_);
  trace(is_ours || status.empty() ? PTRACE_CONT : PTRACE_DETACH, tid, 0);
}

void ExitWatch::on_exit(pid_t tid) {
  std::optional<StoppedThread> thread = read_thread(tid);
  if (!thread || !has_begun_) {
    trace(PTRACE_DETACH, tid, 0);
    return;
  }
  if (ends_process(tid, *thread)) whole_process_ends_ = true;
  if (ends_alone(*thread) && !whole_process_ends_) {
    const std::vector<pid_t> others = threads_of(pid_);
    const bool is_last = std::none_of(others.begin(), others.end(), [&](pid_t other) {
      return other != tid && !exits_.contains(other);
    });
    if (!is_last) {
      trace(PTRACE_DETACH, tid, 0);
      return;
    }
    whole_process_ends_ = true;
  }
  exits_[tid] = {std::move(*thread), monotonic_ns()};
}

// Whether a thread waits in execve(2) or execveat(2) until the others have ended.
bool ExitWatch::calls_exec(const std::vector<pid_t>& threads) const {
  return std::any_of(threads.begin(), threads.end(), [this](pid_t tid) {
    if (exits_.contains(tid)) return false;
    const std::string call = read_file(proc_path(tid, "syscall"));
    return call.starts_with(std::to_string(SYS_execve) + " ") ||
           call.starts_with(std::to_string(SYS_execveat) + " ");
  });
}

uint64_t ExitWatch::since_ns() const {
  uint64_t since = UINT64_MAX;
  for (const auto& [tid, exit] : exits_) since = std::min(since, exit.since_ns);
  return since;
}

// Whether all threads have come to their end, or will not.
bool ExitWatch::is_complete() {
  const uint64_t waited_ns = monotonic_ns() - since_ns();
  const std::vector<pid_t> threads = threads_of(pid_);
  if (!whole_process_ends_) {
    if (waited_ns > exec_patience_ns || calls_exec(threads)) resume_exits();
    return false;
  }
  if (waited_ns > end_patience_ns) return true;
  return std::all_of(threads.begin(), threads.end(),
                     [this](pid_t tid) { return exits_.contains(tid); });
}

void ExitWatch::hold() {
  HeldProcess process{.threads = {}, .since_ns = since_ns(), .why_not = {}};
  for (const pid_t tid : threads_of(pid_))
    if (!exits_.contains(tid))
      process.why_not = "thread " + std::to_string(tid) + " did not come to its end within 2 s";
  for (auto& [tid, exit] : exits_) process.threads.push_back(std::move(exit.thread));
  {
    std::unique_lock lock(mutex_);
    if (!may_go_) held_ = std::move(process);
    changed_.wait(lock, [this] { return may_go_; });
  }
  resume_exits();
  is_done_ = true;
}

// They end like any thread that is not traced, so their process's parent gets its status.
void ExitWatch::resume_exits() {
  for (const auto& [tid, exit] : exits_) trace(PTRACE_DETACH, tid, 0);
  exits_.clear();
}

void ExitWatch::go_on(pid_t tid, int signal) const {
  trace(PTRACE_CONT, tid, static_cast<uint64_t>(signal));
}

std::optional<HeldProcess> ExitWatch::held() {
  const std::lock_guard lock(mutex_);
  return held_;
}

void ExitWatch::let_go() {
  {
    const std::lock_guard lock(mutex_);
    may_go_ = true;
    held_.reset();  // here: the tracing thread may come to it late
  }
  changed_.notify_all();
}

void ExitWatch::stop() {
  if (!thread_.joinable()) return;
  stops_ = true;
  let_go();
  while (!has_ended_) {
    ::pthread_kill(thread_.native_handle(), wake_signal());
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  thread_.join();
}

}  // namespace memflame
