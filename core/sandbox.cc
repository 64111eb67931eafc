// SPDX-License-Identifier: BSD-2-Clause
#include "core/sandbox.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/process_memory.h"

#ifndef __x86_64__
#error "the filter of system calls is for x86-64"
#endif

namespace memflame {
namespace {

#ifdef MEMFLAME_SANITIZED  // by CMakeLists.txt
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

// The kernel makes a probed program call them on return from a probed function (Linux 6.11) and at
// a probe (6.18). Later kernels pass them through any filter. Newer than the headers.
constexpr uint32_t nr_uretprobe = 335, nr_uprobe = 336;

// System calls for mapped files, memory, locks and the socket; harmless whatever the arguments are.
constexpr std::array<uint32_t, 29> harmless{
    SYS_read,         SYS_pread64,         SYS_write,    SYS_sendmsg,       SYS_recvmsg,
    SYS_sendto,       SYS_recvfrom,        SYS_close,    SYS_fstat,         SYS_lseek,
    SYS_munmap,       SYS_mremap,          SYS_brk,      SYS_madvise,       SYS_futex,
    SYS_rt_sigaction, SYS_rt_sigprocmask,  SYS_getpid,   SYS_gettid,        SYS_exit,
    SYS_rt_sigreturn, SYS_exit_group,      SYS_sysinfo,  SYS_clock_gettime, SYS_getrandom,
    SYS_sched_yield,  SYS_restart_syscall, nr_uretprobe, nr_uprobe,
};

// System calls that libraries try and can do without: locales, time zones, other debug files.
constexpr std::array<uint32_t, 11> refused{
    SYS_open,     SYS_openat, SYS_access,     SYS_faccessat, SYS_stat,       SYS_lstat,
    SYS_readlink, SYS_statx,  SYS_readlinkat, SYS_prlimit64, SYS_newfstatat,
};

// What a server needs beside that. It has no call that makes another socket.
constexpr std::array<uint32_t, 17> of_servers{
    SYS_accept,
    SYS_accept4,
    SYS_poll,
    SYS_ppoll,
    SYS_select,
    SYS_pselect6,
    SYS_setsockopt,
    SYS_shutdown,
    SYS_getpeername,
    SYS_getsockname,
    SYS_getsockopt,
    SYS_rseq,
    SYS_nanosleep,
    SYS_clock_nanosleep,
    SYS_set_robust_list,
    SYS_gettimeofday,
    SYS_sched_getaffinity,
};
// How the C library starts a thread. It tries clone3 first, whose flags a filter cannot see.
constexpr uint32_t thread_flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM |
                                  CLONE_SIGHAND | CLONE_THREAD | CLONE_SETTLS |
                                  CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

class Filter {
 public:
  Filter() {
    // 32-bit calls have other numbers. x32 calls need no test: their numbers match no rule.
    load(offsetof(seccomp_data, arch));
    skip_unless(BPF_JEQ, AUDIT_ARCH_X86_64, 1);
    skip(1);
    answer(SECCOMP_RET_KILL_PROCESS);
    load(offsetof(seccomp_data, nr));
  }
  void allow(uint32_t call) { when(call, SECCOMP_RET_ALLOW); }
  void refuse(uint32_t call, uint32_t error = EACCES) { when(call, SECCOMP_RET_ERRNO | error); }
  // Only if the lower half of an argument has none of these bits.
  void allow_without(uint32_t call, uint32_t argument, uint32_t bits) {
    skip_unless(BPF_JEQ, call, 4);
    load_argument(argument);
    add(BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0);
    answer(SECCOMP_RET_ALLOW);
    load(offsetof(seccomp_data, nr));
  }
  // Only if the lower half of an argument is one of these.
  void allow_with(uint32_t call, uint32_t argument, std::initializer_list<uint32_t> values) {
    skip_unless(BPF_JEQ, call, static_cast<uint8_t>(2 + 2 * values.size()));
    load_argument(argument);
    for (const uint32_t value : values) when(value, SECCOMP_RET_ALLOW);
    load(offsetof(seccomp_data, nr));
  }
  bool install() {
    answer(SECCOMP_RET_KILL_PROCESS);
    const sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
  }

 private:
  void add(uint32_t code, uint32_t value, uint8_t if_true = 0, uint8_t if_false = 0) {
    code_.push_back({static_cast<uint16_t>(code), if_true, if_false, value});
  }
  void load(size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)); }
  void load_argument(uint32_t argument) {  // little endian: the lower half comes first
    load(offsetof(seccomp_data, args) + argument * sizeof(uint64_t));
  }
  void answer(uint32_t what) { add(BPF_RET | BPF_K, what); }
  void skip(uint32_t count) { add(BPF_JMP | BPF_JA, count); }
  void skip_unless(uint32_t test, uint32_t value, uint8_t count) {
    add(BPF_JMP | test | BPF_K, value, 0, count);
  }
  void when(uint32_t value, uint32_t what) {
    skip_unless(BPF_JEQ, value, 1);
    answer(what);
  }
  std::vector<sock_filter> code_;
};

bool filter_system_calls(bool serves) {
  Filter filter;
  for (const uint32_t call : harmless) filter.allow(call);
  if (serves) {
    for (const uint32_t call : of_servers) filter.allow(call);
    filter.refuse(SYS_clone3, ENOSYS);
    filter.allow_with(SYS_clone, 0, {thread_flags});
  }
  // No new code after the filter is in place.
  filter.allow_without(SYS_mmap, 2, PROT_EXEC);
  filter.allow_without(SYS_mprotect, 2, PROT_EXEC);
  // fstat() of glibc 2.33 and later.
  filter.allow_with(SYS_newfstatat, 3, {AT_EMPTY_PATH});
  filter.allow_with(SYS_fcntl, 1, {F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC});
  filter.allow_with(SYS_tgkill, 0, {static_cast<uint32_t>(::getpid())});  // abort()
  for (const uint32_t call : refused) filter.refuse(call);
  return filter.install();
}

void close_all_but(std::vector<int> kept) {
  std::ranges::sort(kept);
  unsigned first = 1;
  if (sanitized) {
    ::close_range(1, 1, 0);
    first = 3;
  }
  for (const int one : kept) {
    const auto fd = static_cast<unsigned>(one);
    if (one < 0 || fd < first) continue;
    if (first < fd) ::close_range(first, fd - 1, 0);
    first = fd + 1;
  }
  ::close_range(first, ~0U, 0);
}

// Memory shared with memflame, and through it with the kernel: ring buffers, tables.
void unmap_shared() {
  std::ifstream maps("/proc/self/maps");
  std::vector<std::pair<uintptr_t, uintptr_t>> shared;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t start = 0, end = 0;
    const char* limit = line.data() + line.size();
    const auto [dash, error] = std::from_chars(line.data(), limit, start, 16);
    if (error != std::errc{} || dash == limit) continue;
    const auto [blank, wrong] = std::from_chars(dash + 1, limit, end, 16);
    // "start-end rw-s …"
    if (wrong == std::errc{} && limit - blank > 5 && blank[4] == 's')
      shared.emplace_back(start, end);
  }
  for (const auto& [start, end] : shared) ::munmap(reinterpret_cast<void*>(start), end - start);
}

void write_word(const char* file, const char* word) {
  std::ofstream out(file);
  out << word;
}

void limit(int resource, uint64_t most) {
  rlimit now{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &now) != 0) return;
  now.rlim_cur = now.rlim_max = std::min<rlim_t>(now.rlim_max, most);
  ::setrlimit(static_cast<__rlimit_resource>(resource), &now);
}

// Signals raised by an error of this process itself stay unblocked.
void block_signals() {
  sigset_t set;
  ::sigfillset(&set);
  for (const int raised : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP})
    ::sigdelset(&set, raised);
  ::sigprocmask(SIG_SETMASK, &set, nullptr);
}

}  // namespace

void drop_capabilities() {
  for (int capability = 0; capability < 64; ++capability)
    ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> none{};
  ::syscall(SYS_capset, &header, none.data());
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

bool enter_sandbox(int socket, const SandboxLimits& limits) {
  ::prctl(PR_SET_NAME, limits.name);
  block_signals();
  if (socket != 0) ::dup2(socket, 0);
  close_all_but(limits.server);
  if (!sanitized) unmap_shared();
  write_word("/proc/self/oom_score_adj", "1000");
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_NOFILE, 64);
  if (limits.data_bytes != 0 && !sanitized)
    limit(RLIMIT_DATA, data_bytes_of(::getpid()) + std::min(limits.data_bytes, RLIM_INFINITY / 2));
  drop_capabilities();
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  // Comes after the capabilities, as changing those resets it.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  return sanitized || limits.opens_files || filter_system_calls(!limits.server.empty());
}

Apart start_apart(const std::string& what, const std::function<void(int socket)>& work) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw Error("no socket for the process that " + what + ": " + std::strerror(errno));
  // No handler of this process may run in the new one.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) {
    work(ends[1]);
    ::_exit(1);
  }
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::close(ends[1]);
  if (pid > 0) return {pid, ends[0]};
  ::close(ends[0]);
  throw Error("the process that " + what + " cannot be started: " + std::strerror(error));
}

}  // namespace memflame
