// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/attach/call_filter.h"

#include <asm/unistd.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "probes/inside/exchange/protocol.h"
#include "probes/processes/spaces.h"
#include "probes/reach/tracing.h"
#include "probes/system/procfs.h"

namespace memflame::inside {
namespace {

struct NeededCall {
  const char* name;
  int number;
  std::array<uint64_t, 6> arguments{};  // as far as filters look at them
};

constexpr uint64_t nothing = ~uint64_t{0};
constexpr uint64_t read_write = PROT_READ | PROT_WRITE;

// They are those of attaching (attacher.cc), of dlopen() in it, and of the agent (agent/).
constexpr std::array needed_calls{
    NeededCall{"mmap", __NR_mmap, {0, page, read_write, MAP_PRIVATE | MAP_ANONYMOUS, nothing, 0}},
    NeededCall{"mmap", __NR_mmap, {0, page, read_write, MAP_SHARED, 3, 0}},
    NeededCall{
        "mmap (of code)",
        __NR_mmap,
        {page, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED | MAP_DENYWRITE, 3, page}},
    NeededCall{"munmap", __NR_munmap, {page, page}},
    NeededCall{"mprotect", __NR_mprotect, {page, page, read_write}},
    NeededCall{"mprotect", __NR_mprotect, {page, page, PROT_READ}},
    NeededCall{"madvise", __NR_madvise, {page, page, MADV_WIPEONFORK}},
    NeededCall{"madvise", __NR_madvise, {page, page, MADV_DONTDUMP}},
    NeededCall{"memfd_create", __NR_memfd_create, {page, 3}},
    NeededCall{
        "openat", __NR_openat, {static_cast<uint32_t>(AT_FDCWD), page, O_RDONLY | O_CLOEXEC}},
    NeededCall{"read", __NR_read, {3, page, page}},
    NeededCall{"pread64", __NR_pread64, {3, page, page}},
    NeededCall{"newfstatat", __NR_newfstatat, {3, page, page, AT_EMPTY_PATH}},
    NeededCall{"close", __NR_close, {3}},
    NeededCall{"socket", __NR_socket, {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC}},
    NeededCall{"setsockopt", __NR_setsockopt, {3, SOL_SOCKET, SO_RCVTIMEO, page, 16}},
    NeededCall{"connect", __NR_connect, {3, page, 16}},
    NeededCall{"sendto", __NR_sendto, {3, page, 64}},
    NeededCall{"recvmsg", __NR_recvmsg, {3, page, MSG_CMSG_CLOEXEC}},
    NeededCall{"getpid", __NR_getpid},
    NeededCall{"gettid", __NR_gettid},
    NeededCall{"nanosleep", __NR_nanosleep, {page}},
    NeededCall{"futex", __NR_futex, {page, FUTEX_WAKE, 1}},
    NeededCall{"rt_sigprocmask", __NR_rt_sigprocmask, {0, page, 0, 8}},
    NeededCall{"process_vm_readv", __NR_process_vm_readv, {1, page, 1, page, 1}},
};

// ptrace(2) counts instructions; the kernel has at most this many filters of a thread, by far.
constexpr size_t most_instructions = BPF_MAXINSNS, most_filters = 1024;

// The machine of classic BPF.
struct Machine {
  uint32_t a = 0, x = 0;
  std::array<uint32_t, BPF_MEMWORDS> memory{};
};

std::optional<uint32_t> calculated(const Machine& machine, const sock_filter& step) {
  const uint32_t right = BPF_SRC(step.code) == BPF_X ? machine.x : step.k;
  switch (BPF_OP(step.code)) {
    case BPF_ADD:
      return machine.a + right;
    case BPF_SUB:
      return machine.a - right;
    case BPF_MUL:
      return machine.a * right;
    case BPF_DIV:
      if (right == 0) return std::nullopt;
      return machine.a / right;
    case BPF_OR:
      return machine.a | right;
    case BPF_AND:
      return machine.a & right;
    case BPF_XOR:
      return machine.a ^ right;
    case BPF_LSH:
      return right < 32 ? machine.a << right : 0;
    case BPF_RSH:
      return right < 32 ? machine.a >> right : 0;
    case BPF_NEG:
      return -machine.a;
    default:
      return std::nullopt;
  }
}

// How many instructions to skip.
std::optional<uint32_t> jumped(const Machine& machine, const sock_filter& step) {
  const uint32_t right = BPF_SRC(step.code) == BPF_X ? machine.x : step.k;
  bool is_true = false;
  switch (BPF_OP(step.code)) {
    case BPF_JA:
      return step.k;
    case BPF_JEQ:
      is_true = machine.a == right;
      break;
    case BPF_JGT:
      is_true = machine.a > right;
      break;
    case BPF_JGE:
      is_true = machine.a >= right;
      break;
    case BPF_JSET:
      is_true = (machine.a & right) != 0;
      break;
    default:
      return std::nullopt;
  }
  return is_true ? step.jt : step.jf;
}

std::optional<uint32_t> loaded(const Machine& machine, const sock_filter& step,
                               const seccomp_data& call) {
  uint32_t word = 0;
  switch (BPF_MODE(step.code)) {
    case BPF_IMM:
      return step.k;
    case BPF_LEN:
      return sizeof(call);
    case BPF_MEM:
      if (step.k >= machine.memory.size()) return std::nullopt;
      return machine.memory.at(step.k);
    case BPF_ABS:
      if (step.k % sizeof(word) != 0 || step.k > sizeof(call) - sizeof(word)) return std::nullopt;
      std::memcpy(&word, reinterpret_cast<const char*>(&call) + step.k, sizeof(word));
      return word;
    default:
      return std::nullopt;
  }
}

// In the order in which the kernel prefers them: the least as a signed number wins.
int32_t strictness(uint32_t action) {
  return static_cast<int32_t>(action & SECCOMP_RET_ACTION_FULL);
}

const char* consequence(uint32_t action) {
  switch (action & SECCOMP_RET_ACTION_FULL) {
    case SECCOMP_RET_ALLOW:
    case SECCOMP_RET_LOG:
    case SECCOMP_RET_ERRNO:
      return nullptr;
    case SECCOMP_RET_TRAP:
      return "sends it a signal";
    case SECCOMP_RET_USER_NOTIF:
    case SECCOMP_RET_TRACE:
      return "asks another process";
    default:
      return "kills it";
  }
}

// The filters of a thread that is held; nullopt: they cannot be read.
std::optional<std::vector<CallFilter>> filters_of(pid_t tid) {
  std::vector<CallFilter> filters;
  for (size_t i = 0; i < most_filters; ++i) {
    const auto get = [&](void* into) {
      // NOLINTNEXTLINE(performance-no-int-to-ptr)
      return ::ptrace(PTRACE_SECCOMP_GET_FILTER, tid, reinterpret_cast<void*>(i), into);
    };
    const long count = get(nullptr);
    if (count < 0) {
      if (errno == ENOENT && !filters.empty()) return filters;
      return std::nullopt;
    }
    if (static_cast<size_t>(count) > most_instructions) return std::nullopt;
    CallFilter filter(static_cast<size_t>(count));
    if (get(filter.data()) != count) return std::nullopt;
    filters.push_back(std::move(filter));
  }
  return std::nullopt;
}

// What the system tells of a thread or process.
struct Filtering {
  bool is_known = false;  // false: it has ended
  bool is_filtered = false;
  std::string count;  // of filters; "" before Linux 5.9
  friend bool operator==(const Filtering&, const Filtering&) = default;
};

Filtering filtering_of(const std::string& folder) {
  const std::string status = read_file(folder + "/status");
  return {.is_known = !status.empty(),
          .is_filtered = status_field(status, "Seccomp") == "2",
          .count = status_field(status, "Seccomp_filters")};
}

}  // namespace

std::optional<uint32_t> run_filter(std::span<const sock_filter> filter, const seccomp_data& call) {
  Machine machine;
  for (size_t at = 0; at < filter.size(); ++at) {  // jumps go forward only
    const sock_filter& step = filter[at];
    std::optional<uint32_t> result;
    switch (BPF_CLASS(step.code)) {
      case BPF_LD:
        if (!(result = loaded(machine, step, call))) return std::nullopt;
        machine.a = *result;
        break;
      case BPF_LDX:
        if (!(result = loaded(machine, step, call))) return std::nullopt;
        machine.x = *result;
        break;
      case BPF_ST:
      case BPF_STX:
        if (step.k >= machine.memory.size()) return std::nullopt;
        machine.memory.at(step.k) = BPF_CLASS(step.code) == BPF_ST ? machine.a : machine.x;
        break;
      case BPF_ALU:
        if (!(result = calculated(machine, step))) return std::nullopt;
        machine.a = *result;
        break;
      case BPF_JMP:
        if (!(result = jumped(machine, step))) return std::nullopt;
        at += *result;
        break;
      case BPF_RET:
        return BPF_RVAL(step.code) == BPF_A ? machine.a : step.k;
      case BPF_MISC:
        (BPF_MISCOP(step.code) == BPF_TAX ? machine.x : machine.a) =
            BPF_MISCOP(step.code) == BPF_TAX ? machine.a : machine.x;
        break;
      default:
        return std::nullopt;
    }
  }
  return std::nullopt;
}

std::string why_filters_forbid(std::span<const CallFilter> filters) {
  for (const NeededCall& needed : needed_calls) {
    seccomp_data call{};
    call.nr = needed.number;
    call.arch = AUDIT_ARCH_X86_64;
    std::copy(needed.arguments.begin(), needed.arguments.end(), std::begin(call.args));
    uint32_t action = SECCOMP_RET_ALLOW;
    for (const CallFilter& filter : filters) {
      const uint32_t own = run_filter(filter, call).value_or(SECCOMP_RET_KILL_PROCESS);
      if (strictness(own) < strictness(action)) action = own;
    }
    if (const char* what = consequence(action))
      return std::string("its filter for system calls (seccomp) ") + what + " at " + needed.name;
  }
  return {};
}

std::string why_filters_differ(pid_t pid) {
  std::optional<Filtering> first;
  for (const pid_t tid : threads_of(pid)) {
    const Filtering its = filtering_of(proc_path(pid, "task/" + std::to_string(tid)));
    if (!its.is_known) continue;
    if (!first) first = its;
    if (its != *first) return "its threads have different filters for system calls (seccomp)";
  }
  return {};
}

std::string why_calls_are_filtered(pid_t tid) {
  const Filtering held = filtering_of("/proc/" + std::to_string(tid));
  if (!held.is_filtered) return {};
  if (const auto filters = filters_of(tid)) return why_filters_forbid(*filters);
  if (filtering_of("/proc/self") == held) return {};
  return "it has a filter for system calls (seccomp), and only root, in no container, can see "
         "whether that would kill it";
}

}  // namespace memflame::inside
