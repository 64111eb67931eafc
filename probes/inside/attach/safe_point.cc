// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/attach/safe_point.h"

#include <asm/unistd.h>

#include <algorithm>
#include <array>
#include <vector>

namespace memflame::inside {
namespace {

constexpr uint32_t most_depth = 4096;
constexpr std::array stack_sizes{size_t{64} << 10, size_t{1} << 20, size_t{8} << 20};

// Those in which threads wait for something outside, so that no function of the C library makes
// them while it holds the allocator's locks or changes its lists.
constexpr std::array waiting_calls{
    __NR_read,        __NR_readv,        __NR_pread64,         __NR_preadv,
    __NR_recvfrom,    __NR_recvmsg,      __NR_recvmmsg,        __NR_poll,
    __NR_ppoll,       __NR_select,       __NR_pselect6,        __NR_epoll_wait,
    __NR_epoll_pwait, __NR_epoll_pwait2, __NR_nanosleep,       __NR_clock_nanosleep,
    __NR_accept,      __NR_accept4,      __NR_connect,         __NR_wait4,
    __NR_waitid,      __NR_pause,        __NR_rt_sigtimedwait, __NR_rt_sigsuspend,
    __NR_sendto,      __NR_sendmsg,      __NR_write,           __NR_writev,
    __NR_flock,       __NR_msgrcv,       __NR_msgsnd,          __NR_semop,
    __NR_semtimedop,  __NR_io_getevents, __NR_io_pgetevents,   __NR_io_uring_enter};

// Functions that wait in futex(), in a call that the kernel has begun anew, or in one that a signal
// handler has interrupted: which one that is, no number says any longer.
constexpr std::array waiting_functions{"pthread_cond_wait",
                                       "pthread_cond_timedwait",
                                       "pthread_cond_clockwait",
                                       "pthread_mutex_lock",
                                       "pthread_mutex_timedlock",
                                       "pthread_rwlock_rdlock",
                                       "pthread_rwlock_wrlock",
                                       "pthread_barrier_wait",
                                       "pthread_join",
                                       "pthread_timedjoin_np",
                                       "sem_wait",
                                       "sem_timedwait",
                                       "sem_clockwait",
                                       "syscall",
                                       "nanosleep",
                                       "clock_nanosleep",
                                       "usleep",
                                       "sleep",
                                       "poll",
                                       "ppoll",
                                       "select",
                                       "pselect",
                                       "epoll_wait",
                                       "epoll_pwait",
                                       "pause",
                                       "sigsuspend",
                                       "wait4",
                                       "waitpid",
                                       "accept",
                                       "accept4",
                                       "read",
                                       "recv",
                                       "recvfrom",
                                       "recvmsg"};

const char* words_of(StopReason stop) {
  switch (stop) {
    case StopReason::complete:
      break;
#define MEMFLAME_STOP(name, label, remedy) \
  case StopReason::name:                   \
    return label;
#include "core/stops.def"
#undef MEMFLAME_STOP
  }
  return "";
}

// The next frame that a signal handler has interrupted; the number of frames if there is none.
size_t next_interrupted(std::span<const PlacedFrame> frames, size_t after) {
  for (size_t i = after + 1; i + 1 < frames.size(); ++i)
    if (!frames[i].is_return) return i;
  return frames.size();
}

// Why nothing can be called above the frames from `begin` to `end`, which a thread or a signal
// handler begins. `why_not_in`: the same for the C library's function with an index, if the leaf is
// in one.
std::string why_unsafe_between(std::span<const PlacedFrame> frames, size_t begin, size_t end,
                               const std::function<std::string(size_t)>& why_not_in) {
  const auto is_library = [&](size_t i) {
    return frames[i].place == Place::library_c || frames[i].place == Place::kernel;
  };
  size_t inner = begin;  // frames of the C library at the leaf
  while (inner < end && is_library(inner)) ++inner;
  // Those where threads begin, maybe behind the program's _start, or what calls signal handlers.
  size_t outer = end;
  if (outer >= inner + 2 && !is_library(outer - 1) && is_library(outer - 2)) --outer;
  while (outer > inner && is_library(outer - 1)) --outer;
  for (size_t i = inner; i < outer; ++i)
    if (is_library(i)) return "the C library has called it";
  return inner == begin ? "" : why_not_in(inner - 1);
}

uint64_t code_address(const Pc& pc) { return pc.addr - (pc.is_return ? 1 : 0); }

}  // namespace

unwind::WalkedStack stack_of(const Tracee& tracee, const unwind::FindRow& find) {
  const user_regs_struct& registers = tracee.registers();
  const RemoteMemory memory(tracee.pid());
  unwind::WalkedStack walked;
  for (const size_t size : stack_sizes) {
    std::vector<std::byte> bytes(size);
    bytes.resize(memory.read_some(registers.rsp, bytes));
    unwind::CopiedStack stack;
    stack.ip = registers.rip;
    stack.sp = registers.rsp;
    stack.bp = registers.rbp;
    stack.bx = registers.rbx;
    stack.memory = bytes;
    walked = unwind::walk(stack, most_depth, find);
    if (walked.stop != StopReason::copy_ended || bytes.size() < size) break;
  }
  return walked;
}

std::string why_unsafe(std::span<const PlacedFrame> frames, long system_call,
                       const std::function<bool(size_t)>& waits) {
  for (const PlacedFrame& frame : frames) {
    if (frame.place == Place::loader) return "it is in the dynamic linker";
    if (frame.place == Place::allocator) return "it is in the allocator";
    if (frame.place == Place::agent) return "it is in the agent";
  }
  std::string leaf =
      why_unsafe_between(frames, 0, next_interrupted(frames, 0), [&](size_t called) -> std::string {
        if (system_call < 0) return "it runs in the C library";
        const bool is_waiting = std::find(waiting_calls.begin(), waiting_calls.end(),
                                          system_call) != waiting_calls.end();
        const bool may_wait = system_call == __NR_futex || system_call == __NR_restart_syscall;
        if (is_waiting || (may_wait && waits(called))) return "";
        return "it is in the C library, in system call " + std::to_string(system_call);
      });
  if (!leaf.empty()) return leaf;
  // What signal handlers have interrupted is as safe as if it were interrupted now.
  for (size_t begin = next_interrupted(frames, 0); begin < frames.size();) {
    const size_t end = next_interrupted(frames, begin);
    std::string why = why_unsafe_between(frames, begin, end, [&](size_t called) -> std::string {
      return waits(called) ? "" : "it is in a signal handler, which has interrupted the C library";
    });
    if (!why.empty()) return why;
    begin = end;
  }
  return "";
}

std::string why_unsafe(const AttachTarget& target, const unwind::WalkedStack& stack,
                       long system_call) {
  if (stack.stop != StopReason::complete)
    return std::string("its stack cannot be read to its end: ") + words_of(stack.stop) +
           (stack.pcs.empty() ? "" : ", from " + target.words_of(code_address(stack.pcs.back())));
  std::vector<PlacedFrame> frames;
  frames.reserve(stack.pcs.size());
  for (const Pc& pc : stack.pcs)
    frames.push_back({target.place_of(code_address(pc)), pc.is_return});
  return why_unsafe(frames, system_call, [&](size_t index) {
    return std::any_of(waiting_functions.begin(), waiting_functions.end(), [&](const char* name) {
      return target.is_in(code_address(stack.pcs[index]), name);
    });
  });
}

bool is_in_agent(const AttachTarget& target, const unwind::WalkedStack& stack) {
  return std::any_of(stack.pcs.begin(), stack.pcs.end(), [&](const Pc& frame) {
    const uint64_t address = code_address(frame);
    if (target.place_of(address) != Place::agent) return false;
    const LoadedObject* object = target.object_at(address);
    const FoundSymbol unload = object->find(target.memory(), "dlclose");
    return address < unload.address || address - unload.address >= unload.size;
  });
}

}  // namespace memflame::inside
