// SPDX-License-Identifier: BSD-2-Clause
// A master that keeps its rights, and a worker that gives some up before it allocates, as servers
// with separated privileges do:
//
//   gives_up uid|net|user|pid|exit-on-socket|deny-socket|few-calls|time|strict [wait]
//   gives_up restart          gives up socket(), then begins anew as `gives_up uid wait`
//
// `time`: the processor's time stamp counter; `strict`: seccomp's strict mode, which takes it away,
// too. The master allocates 111,111 bytes; the worker ten blocks of 100,000. With `wait` the master
// begins after a line on its standard input. Ends with 6 if the worker ended as it should.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <vector>

extern "C" {
void allocate_in_master();
void allocate_in_worker();
}

namespace {

constexpr int worker_status = 3;
void* volatile kept;

// Installs a filter that does `match` for these system calls, and `other` for all others.
bool filter(std::initializer_list<unsigned> calls, unsigned match, unsigned other) {
  std::vector<sock_filter> program{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const unsigned call : calls) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, match));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, other));
  sock_fprog described{static_cast<unsigned short>(program.size()), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &described) == 0;
}

// From then on malloc() takes the worker's blocks from memory that it has.
void have_memory() {
  constexpr int plenty = 4 << 20;
  ::mallopt(M_TRIM_THRESHOLD, plenty);
  ::mallopt(M_TOP_PAD, plenty);
  void* volatile blocks[] = {std::malloc(100'000), std::malloc(100'000)};
  for (void* const block : blocks) std::free(block);
}

bool give_up(const char* what) {
  const auto is = [what](const char* name) { return std::strcmp(what, name) == 0; };
  constexpr unsigned nobody = 65534;
  if (is("uid")) return ::setgid(nobody) == 0 && ::setuid(nobody) == 0;
  if (is("net")) return ::unshare(CLONE_NEWNET) == 0;
  if (is("user")) return ::unshare(CLONE_NEWUSER) == 0;
  if (is("exit-on-socket"))
    return filter({SYS_socket, SYS_connect}, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW);
  if (is("deny-socket"))
    return filter({SYS_socket, SYS_connect}, SECCOMP_RET_ERRNO | 1U, SECCOMP_RET_ALLOW);
  if (is("few-calls"))
    return filter({SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_exit},
                  SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS);
  if (is("time")) return ::prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0;
  if (is("strict")) have_memory();
  if (is("strict")) return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) == 0;
  return false;
}

[[noreturn]] void work(const char* what) {
  if (std::strcmp(what, "pid") == 0) {
    if (::unshare(CLONE_NEWPID) != 0) ::_exit(1);
    const pid_t first = ::fork();
    if (first != 0) {
      int status = 0;
      ::waitpid(first, &status, 0);
      ::_exit(WEXITSTATUS(status));
    }
  } else if (!give_up(what)) {
    ::_exit(1);
  }
  allocate_in_worker();
  ::syscall(SYS_exit, worker_status);  // not exit_group(), which strict mode does not permit
  __builtin_unreachable();
}

}  // namespace

[[gnu::noinline]] void allocate_in_master() { kept = std::malloc(111'111); }

[[gnu::noinline]] void allocate_in_worker() {
  for (int i = 0; i < 10; ++i) {
    kept = std::malloc(100'000);
    void* volatile short_lived = std::malloc(1000);
    std::free(short_lived);
  }
}

int main(int count, char** arguments) {
  if (count < 2) return 1;
  if (std::strcmp(arguments[1], "restart") == 0)
    return give_up("exit-on-socket") ? ::execl(arguments[0], arguments[0], "uid", "wait", nullptr)
                                     : 1;
  if (count > 2) {
    std::puts("ready");
    std::fflush(stdout);
    char line[16];
    if (std::fgets(line, sizeof(line), stdin) == nullptr) return 1;
  }
  allocate_in_master();
  const pid_t worker = ::fork();
  if (worker == 0) work(arguments[1]);
  int status = 0;
  ::waitpid(worker, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == worker_status ? 6 : 1;
}
