// SPDX-License-Identifier: BSD-2-Clause
#include "probes/reach/tracing.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "probes/options/advice.h"
#include "probes/processes/spaces.h"
#include "probes/system/procfs.h"

namespace memflame {
namespace {

constexpr uint64_t stop_patience_ns = 2'000'000'000;
constexpr size_t most_extra_bytes = size_t{16} << 10;  // of vector registers

void pause_briefly() { std::this_thread::sleep_for(std::chrono::microseconds(100)); }

}  // namespace

std::string refusal(pid_t pid, int error) {
  const std::string process = "process " + std::to_string(pid);
  if (error == ESRCH) return "the process had ended";
  const std::string tracer = status_field(read_file(proc_path(pid, "status")), "TracerPid");
  if (!tracer.empty() && tracer != "0")
    return process + " is traced by process " + tracer +
           " already (gdb, strace?), and the kernel "
           "allows one tracer";
  const std::string scope = read_file("/proc/sys/kernel/yama/ptrace_scope");
  if (scope.starts_with("3"))
    return "kernel.yama.ptrace_scope is 3, which forbids all tracing until the next boot";
  if (scope.starts_with("1") || scope.starts_with("2"))
    return "no permission to trace " + process + ": kernel.yama.ptrace_scope is " + scope[0] +
           ", which leaves that to root and CAP_SYS_PTRACE" +
           (scope[0] == '1' ? ", and to the ancestors of a process" : "");
  return "no permission to trace " + process + " (" + std::strerror(error) +
         "): " + run_as_root_or_with("CAP_SYS_PTRACE");
}

long trace(int request, pid_t tid, uint64_t data) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return ::ptrace(static_cast<__ptrace_request>(request), tid, nullptr,
                  reinterpret_cast<void*>(data));
}

std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<pid_t> tids;
  std::error_code error;
  const std::filesystem::directory_iterator folder(proc_path(pid, "task"), error);
  if (error) return tids;
  for (auto entry = begin(folder); entry != end(folder); entry.increment(error)) {
    if (error) break;
    const pid_t tid = std::atoi(entry->path().filename().c_str());
    const char state = parse_stat(read_file(entry->path().string() + "/stat")).state;
    if (tid > 0 && state != 0 && state != 'Z' && state != 'X') tids.push_back(tid);
  }
  return tids;
}

std::optional<TraceEvent> next_event(pid_t tid, pid_t process, bool waits) {
  const idtype_t type = tid == 0 ? P_ALL : P_PID;
  const auto id = static_cast<id_t>(tid);
  siginfo_t info{};
  // __WNOTHREAD: no children of other threads of memflame.
  const int own = __WALL | __WNOTHREAD;
  if (::waitid(type, id, &info, WEXITED | WSTOPPED | WNOWAIT | own | (waits ? 0 : WNOHANG)) != 0 ||
      info.si_pid == 0)
    return std::nullopt;
  TraceEvent event{.tid = info.si_pid};
  if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) {
    event.has_ended = true;
    if (event.tid != process)
      ::waitid(P_PID, static_cast<id_t>(event.tid), &info, WEXITED | WNOHANG | own);
    return event;
  }
  siginfo_t taken{};
  if (::waitid(P_PID, static_cast<id_t>(event.tid), &taken, WSTOPPED | WNOHANG | own) != 0 ||
      taken.si_pid == 0) {
    errno = EINTR;
    return std::nullopt;  // it was killed meanwhile
  }
  event.signal = taken.si_status & 0xff;
  event.event = taken.si_status >> 8;
  return event;
}

std::optional<StoppedThread> read_thread(pid_t tid) {
  user_regs_struct general{};
  if (trace(PTRACE_GETREGS, tid, reinterpret_cast<uintptr_t>(&general)) != 0) return std::nullopt;
  StoppedThread thread{.tid = tid, .sp = general.rsp, .fs_base = general.fs_base, .registers = {}};
  thread.registers.resize(sizeof(general) / sizeof(uint64_t));
  std::memcpy(thread.registers.data(), &general, sizeof(general));
  std::vector<uint64_t> extra(most_extra_bytes / sizeof(uint64_t));
  iovec area{extra.data(), most_extra_bytes};
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  if (::ptrace(PTRACE_GETREGSET, tid, reinterpret_cast<void*>(uintptr_t{NT_X86_XSTATE}), &area) ==
      0)
    thread.registers.insert(
        thread.registers.end(), extra.begin(),
        extra.begin() + static_cast<std::ptrdiff_t>(area.iov_len / sizeof(uint64_t)));
  return thread;
}

std::string why_not_traceable(pid_t pid) {
  std::string why, tracer;
  std::thread([&] {
    tracer = std::to_string(::gettid());
    if (trace(PTRACE_SEIZE, pid, 0) != 0) why = refusal(pid, errno);
  }).join();
  // join() returns before the kernel lets go of what the thread has traced.
  while (status_field(read_file(proc_path(pid, "status")), "TracerPid") == tracer) pause_briefly();
  return why;
}

namespace {

// Used by one thread only.
class Stopper {
 public:
  explicit Stopper(pid_t pid) : pid_(pid) {}

  // Returns why the process cannot be stopped; "" if it is stopped.
  std::string stop();
  HeldProcess held() const;
  void let_go();

 private:
  struct Traced {
    pid_t tid = 0;
    int signal = 0;  // to be delivered when the thread goes on
    bool is_stopped = false, has_ended = false;
  };

  std::string seize_new_threads(size_t& seized);
  std::string wait_for(Traced& thread, uint64_t deadline_ns) const;

  pid_t pid_;
  std::vector<Traced> traced_;
  uint64_t since_ns_ = 0;
};

std::string Stopper::seize_new_threads(size_t& seized) {
  for (const pid_t tid : threads_of(pid_)) {
    if (std::any_of(traced_.begin(), traced_.end(),
                    [tid](const Traced& thread) { return thread.tid == tid; }))
      continue;
    if (trace(PTRACE_SEIZE, tid, 0) != 0) {
      if (errno == ESRCH || !is_alive(tid)) continue;
      return refusal(pid_, errno);
    }
    if (since_ns_ == 0) since_ns_ = monotonic_ns();
    trace(PTRACE_INTERRUPT, tid, 0);
    traced_.push_back({.tid = tid});
    ++seized;
  }
  return "";
}

std::string Stopper::wait_for(Traced& thread, uint64_t deadline_ns) const {
  while (true) {
    const std::optional<TraceEvent> event = next_event(thread.tid, pid_, false);
    if (event && event->has_ended) {
      thread.has_ended = true;
      return "";
    }
    if (event) {
      thread.is_stopped = true;
      thread.signal = event->event == 0 ? event->signal : 0;
      return "";
    }
    if (!is_alive(thread.tid)) {
      thread.has_ended = true;
      return "";
    }
    if (monotonic_ns() > deadline_ns)
      return "thread " + std::to_string(thread.tid) +
             " did not stop within 2 s: it waits in the kernel";
    pause_briefly();
  }
}

std::string Stopper::stop() {
  const uint64_t deadline_ns = monotonic_ns() + stop_patience_ns;
  // A thread that still runs may start others, so look again until there are none.
  for (size_t seized = 1; seized != 0;) {
    seized = 0;
    if (std::string why = seize_new_threads(seized); !why.empty()) return why;
    for (Traced& thread : traced_)
      if (!thread.is_stopped && !thread.has_ended)
        if (std::string why = wait_for(thread, deadline_ns); !why.empty()) return why;
  }
  const bool any = std::any_of(traced_.begin(), traced_.end(),
                               [](const Traced& thread) { return thread.is_stopped; });
  return any ? "" : "the process had ended";
}

void Stopper::let_go() {
  for (Traced& thread : traced_)
    if (thread.is_stopped) trace(PTRACE_DETACH, thread.tid, static_cast<uint64_t>(thread.signal));
  traced_.clear();
}

HeldProcess Stopper::held() const {
  HeldProcess held{.threads = {}, .since_ns = since_ns_, .why_not = {}};
  for (const Traced& thread : traced_)
    if (thread.is_stopped)
      if (std::optional<StoppedThread> read = read_thread(thread.tid))
        held.threads.push_back(std::move(*read));
  return held;
}

}  // namespace

StoppedProcess::StoppedProcess(pid_t pid)
    : thread_([this, pid] {
        Stopper stopper(pid);
        if (std::string why = stopper.stop(); !why.empty()) {
          // The threads that are stopped go on now, the others when this thread has ended.
          stopper.let_go();
          stopped_.set_value(
              {.threads = {}, .since_ns = monotonic_ns(), .why_not = std::move(why)});
          return;
        }
        stopped_.set_value(stopper.held());
        may_go_.get_future().wait();
        stopper.let_go();
      }) {}

const HeldProcess& StoppedProcess::held() {
  if (!held_) held_ = stopped_.get_future().get();
  return *held_;
}

void StoppedProcess::let_go() {
  if (!thread_.joinable()) return;
  may_go_.set_value();
  thread_.join();
}

}  // namespace memflame
