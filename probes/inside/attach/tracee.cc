// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/attach/tracee.h"

#include <elf.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "core/error.h"
#include "probes/processes/spaces.h"
#include "probes/reach/tracing.h"
#include "probes/system/procfs.h"

namespace memflame::inside {

void pause_for(uint64_t ns) {
  const timespec time{.tv_sec = 0, .tv_nsec = static_cast<long>(ns)};
  ::nanosleep(&time, nullptr);
}

namespace {

constexpr uint64_t stop_patience_ns = 5'000'000, call_patience_ns = 30'000'000'000;
constexpr size_t most_extra_words = 2048;
constexpr uint64_t red_zone = 128;              // System V ABI, x86-64, 3.2.2
constexpr uint64_t direction_and_trap = 0x500;  // flags that a function finds cleared
constexpr uint64_t all_but_faults = ~(uint64_t{1} << (SIGSEGV - 1));
constexpr size_t text_bytes = 4096;

uint64_t as_word(void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// ptrace() whose second number is not an address.
long trace_with(int request, pid_t tid, uint64_t number, void* data) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return ::ptrace(static_cast<__ptrace_request>(request), tid, reinterpret_cast<void*>(number),
                  data);
}

// What a thread did next, and the last time at which it had not done so.
struct Waited {
  std::optional<TraceEvent> event;
  uint64_t not_before_ns = 0;
};

// No event if none comes in time. Looks without pause at first, as most stops come within
// microseconds.
Waited event_of(pid_t tid, pid_t pid, uint64_t patience_ns,
                const std::function<void()>& meanwhile = {}) {
  const uint64_t from = monotonic_ns();
  Waited waited{.event = {}, .not_before_ns = from};
  while (true) {
    const uint64_t now = monotonic_ns();
    waited.event = next_event(tid, pid, false);
    if (waited.event || now - from > patience_ns) return waited;
    waited.not_before_ns = now;
    if (meanwhile) meanwhile();
    if (now - from > 100'000) pause_for(now - from > 10'000'000 ? 1'000'000 : 30'000);
  }
}

// Signals that the thread is about to take.
bool has_pending_signal(pid_t pid, pid_t tid) {
  const std::string status = read_file(proc_path(pid, "task/" + std::to_string(tid) + "/status"));
  const auto set = [&](const char* name) {
    return std::strtoull(status_field(status, name).c_str(), nullptr, 16);
  };
  return ((set("SigPnd") | set("ShdPnd")) & ~set("SigBlk")) != 0;
}

}  // namespace

Tracee::Tracee(pid_t pid, pid_t tid, std::function<void()> meanwhile)
    : pid_(pid), tid_(tid), meanwhile_(std::move(meanwhile)) {
  if (trace(PTRACE_SEIZE, tid_, 0) != 0) return;
  trace(PTRACE_INTERRUPT, tid_, 0);
  state_ = State::running;
  const Waited waited = event_of(tid_, pid_, stop_patience_ns);
  if (waited.event) take(*waited.event, waited.not_before_ns);
}

Tracee::State Tracee::catch_up() {
  if (state_ == State::running)
    if (const std::optional<TraceEvent> event = next_event(tid_, pid_, false))
      take(*event, monotonic_ns());
  return state_;
}

void Tracee::take(const TraceEvent& event, uint64_t since_ns) {
  state_ = State::gone;
  if (event.has_ended) return;
  // Otherwise a signal is being delivered, or all threads are stopped by one.
  if (event.event == PTRACE_EVENT_STOP && event.signal == SIGTRAP &&
      trace(PTRACE_GETREGS, tid_, as_word(&registers_)) == 0) {
    state_ = State::held;
    since_ns_ = since_ns;
    return;
  }
  trace(PTRACE_DETACH, tid_, event.event == 0 ? static_cast<uint64_t>(event.signal) : 0);
}

void Tracee::begin_calls() {
  if (has_called_) return;
  extra_.resize(most_extra_words);
  iovec area{extra_.data(), extra_.size() * sizeof(uint64_t)};
  if (trace_with(PTRACE_GETREGSET, tid_, NT_X86_XSTATE, &area) != 0 ||
      trace_with(PTRACE_GETSIGMASK, tid_, sizeof(signals_), &signals_) != 0)
    throw Error("thread " + std::to_string(tid_) + " cannot be read: " + std::strerror(errno));
  extra_.resize(area.iov_len / sizeof(uint64_t));
  uint64_t blocked = all_but_faults;
  trace_with(PTRACE_SETSIGMASK, tid_, sizeof(blocked), &blocked);
  has_called_ = true;
}

uint64_t Tracee::call(uint64_t function, std::initializer_list<uint64_t> arguments,
                      uint64_t stack) {
  begin_calls();
  user_regs_struct now = registers_;
  unsigned long long* const places[] = {&now.rdi, &now.rsi, &now.rdx, &now.rcx, &now.r8, &now.r9};
  size_t next = 0;
  for (const uint64_t argument : arguments) *places[next++] = argument;
  if (stack == 0) stack = registers_.rsp - red_zone;
  now.rsp = (stack & ~uint64_t{15}) - sizeof(uint64_t);
  now.rip = function;
  now.rax = 0;
  now.orig_rax = ~0ULL;  // nothing is to be restarted
  now.eflags &= ~direction_and_trap;
  const uint64_t nowhere = 0;
  if (!RemoteMemory(pid_).write_value(now.rsp, nowhere) ||
      trace(PTRACE_SETREGS, tid_, as_word(&now)) != 0 || trace(PTRACE_CONT, tid_, 0) != 0)
    throw Error("nothing can be called in thread " + std::to_string(tid_));
  wait_for_return();
  user_regs_struct then{};
  trace(PTRACE_GETREGS, tid_, as_word(&then));
  if (then.rip != 0)
    throw Error("a call in thread " + std::to_string(tid_) + " failed by a signal");
  return then.rax;
}

void Tracee::wait_for_return() {
  while (true) {
    const Waited waited = event_of(tid_, pid_, call_patience_ns, meanwhile_);
    if (!waited.event) {
      state_ = State::gone;  // this thread of memflame ends, and so lets go of it
      throw Error("a call in thread " + std::to_string(tid_) + " did not return within 30 s");
    }
    if (waited.event->has_ended) {
      state_ = State::gone;
      throw Error("process " + std::to_string(pid_) + " ended");
    }
    if (waited.event->event == 0 && waited.event->signal != 0) return;
    trace(PTRACE_CONT, tid_, 0);  // a stop of all threads, or the interrupt again
  }
}

// A system call that failed because of the interrupt alone is made again.
void Tracee::finish_system_call() {
  constexpr uint16_t instruction = 0x050f;
  uint16_t code = 0;
  if (system_call() < 0 || static_cast<int64_t>(registers_.rax) != -EINTR ||
      !RemoteMemory(pid_).read(registers_.rip - sizeof(code), code) || code != instruction ||
      has_pending_signal(pid_, tid_))
    return;
  registers_.rip -= sizeof(code);
  registers_.rax = registers_.orig_rax;
  registers_.orig_rax = ~0ULL;
  trace(PTRACE_SETREGS, tid_, as_word(&registers_));
}

void Tracee::let_go() {
  if (state_ != State::held) return;
  if (has_called_) {
    iovec area{extra_.data(), extra_.size() * sizeof(uint64_t)};
    trace(PTRACE_SETREGS, tid_, as_word(&registers_));
    trace_with(PTRACE_SETREGSET, tid_, NT_X86_XSTATE, &area);
    trace_with(PTRACE_SETSIGMASK, tid_, sizeof(signals_), &signals_);
  }
  finish_system_call();
  trace(PTRACE_DETACH, tid_, 0);
  until_ns_ = monotonic_ns();
  state_ = State::gone;
}

uint64_t Tracee::held_ns() const {
  return (until_ns_ != 0 ? until_ns_ : monotonic_ns()) - since_ns_;
}

RemoteCalls::RemoteCalls(Tracee& tracee, const LibraryFunctions& functions)
    : tracee_(tracee), functions_(functions), memory_(tracee.pid()) {
  error_place_ = tracee_.call(functions_.error_place, {}, 0);
  if (!memory_.read(error_place_, error_)) throw Error("errno cannot be read");
  memory_at_ = tracee_.call(functions_.map,
                            {0, stack_bytes + text_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, ~uint64_t{0}, 0},
                            0);
  if (memory_at_ == ~uint64_t{0}) {
    memory_at_ = 0;
    memory_.write_value(error_place_, error_);
    throw Error("process " + std::to_string(tracee_.pid()) +
                " may not map memory (seccomp, or ulimit -v?)");
  }
  own_stack_ = memory_at_ + stack_bytes;
}

RemoteCalls::~RemoteCalls() {
  try {
    if (memory_at_ != 0) tracee_.call(functions_.unmap, {memory_at_, stack_bytes + text_bytes}, 0);
    memory_.write_value(error_place_, error_);
  } catch (const Error&) {  // the process has ended
  }
}

uint64_t RemoteCalls::call(uint64_t function, std::initializer_list<uint64_t> arguments) {
  return tracee_.call(function, arguments, own_stack_);
}

int64_t RemoteCalls::system_call(long number, std::initializer_list<uint64_t> arguments) {
  std::array<uint64_t, 4> all{};
  size_t next = 0;
  for (const uint64_t argument : arguments) all.at(next++) = argument;
  const auto result = static_cast<int64_t>(call(
      functions_.system_call, {static_cast<uint64_t>(number), all[0], all[1], all[2], all[3]}));
  if (result != -1) return result;
  uint32_t error = 0;
  memory_.read(error_place_, error);
  return -int64_t{error};
}

uint64_t RemoteCalls::text(const std::string& text) {
  const std::string bytes = text.substr(0, text_bytes - 1) + '\0';
  if (!memory_.write(own_stack_, std::as_bytes(std::span(bytes))))
    throw Error("the memory of process " + std::to_string(tracee_.pid()) + " cannot be written");
  return own_stack_;
}

}  // namespace memflame::inside
