// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/attach/call_filter.h"

#include <asm/unistd.h>
#include <doctest/doctest.h>
#include <linux/audit.h>
#include <sys/mman.h>

#include <cstddef>

using namespace memflame::inside;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr uint32_t number_at = offsetof(seccomp_data, nr);
constexpr uint32_t third_argument_at = offsetof(seccomp_data, args) + 2 * sizeof(uint64_t);

sock_filter load(uint32_t at) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at); }
sock_filter give(uint32_t action) { return BPF_STMT(BPF_RET | BPF_K, action); }
sock_filter is(uint32_t value, uint8_t then, uint8_t otherwise) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, then, otherwise);
}

// This action for one system call; all others are allowed.
CallFilter only(uint32_t number, uint32_t action) {
  return {load(number_at), is(number, 0, 1), give(action), give(SECCOMP_RET_ALLOW)};
}

std::string why(const std::vector<CallFilter>& filters) { return why_filters_forbid(filters); }

}  // namespace

TEST_CASE("a filter is run as the kernel runs it") {
  const seccomp_data call{.nr = 7,
                          .arch = AUDIT_ARCH_X86_64,
                          .instruction_pointer = 0,
                          .args = {1, 2, 0x1'0000'0003, 4, 5, 6}};
  CHECK(run_filter(CallFilter{give(5)}, call) == 5);
  CHECK(run_filter(CallFilter{load(number_at), BPF_STMT(BPF_RET | BPF_A, 0)}, call) == 7);
  CHECK(run_filter(CallFilter{load(third_argument_at + 4), BPF_STMT(BPF_RET | BPF_A, 0)}, call) ==
        1);
  // ((7 * 3 - 1) & 0xc) << 2 | 1, by way of X and of memory
  CHECK(
      run_filter(CallFilter{load(number_at), BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, 3),
                            BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, 1), BPF_STMT(BPF_MISC | BPF_TAX, 0),
                            BPF_STMT(BPF_LD | BPF_IMM, 0xc), BPF_STMT(BPF_ALU | BPF_AND | BPF_X, 0),
                            BPF_STMT(BPF_ST, 15), BPF_STMT(BPF_LDX | BPF_MEM, 15),
                            BPF_STMT(BPF_MISC | BPF_TXA, 0), BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 2),
                            BPF_STMT(BPF_ALU | BPF_OR | BPF_K, 1), BPF_STMT(BPF_RET | BPF_A, 0)},
                 call) == 17);
  CHECK(
      run_filter(CallFilter{load(number_at), BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 6, 1, 0), give(1),
                            BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 8, 0, 1), give(2), give(3)},
                 call) == 3);
}

TEST_CASE("what the kernel would not take is not run") {
  const seccomp_data call{};
  CHECK(!run_filter(CallFilter{}, call));
  CHECK(!run_filter(CallFilter{load(1)}, call));  // not a word
  CHECK(!run_filter(CallFilter{load(sizeof(seccomp_data))}, call));
  CHECK(!run_filter(CallFilter{load(0)}, call));  // no end
  CHECK(!run_filter(CallFilter{BPF_STMT(BPF_JMP | BPF_JA, UINT32_MAX)}, call));
  CHECK(!run_filter(CallFilter{BPF_STMT(BPF_ST, BPF_MEMWORDS)}, call));
  CHECK(!run_filter(CallFilter{BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0), give(1)}, call));
  CHECK(!run_filter(CallFilter{BPF_STMT(BPF_LD | BPF_W | BPF_IND, 0), give(1)}, call));
}

TEST_CASE("a process is entered only if nothing happens to it at the calls that are needed") {
  CHECK(why({}) == "");
  CHECK(why({only(__NR_mmap, SECCOMP_RET_ALLOW)}) == "");
  CHECK(why({only(__NR_fork, SECCOMP_RET_KILL_PROCESS)}) == "");
  CHECK(why({only(__NR_memfd_create, SECCOMP_RET_ERRNO | 1)}) == "");  // it fails, and that is said
  CHECK(why({only(__NR_memfd_create, SECCOMP_RET_KILL_THREAD)}) ==
        "its filter for system calls (seccomp) kills it at memfd_create");
  CHECK(why({only(__NR_recvmsg, SECCOMP_RET_TRAP)}) ==
        "its filter for system calls (seccomp) sends it a signal at recvmsg");
  CHECK(why({only(__NR_openat, SECCOMP_RET_USER_NOTIF)}) ==
        "its filter for system calls (seccomp) asks another process at openat");
  CHECK(why({only(__NR_openat, 0x12340000)}) ==
        "its filter for system calls (seccomp) kills it at openat");
  // The strictest of several counts, whatever their order.
  const CallFilter lenient = only(__NR_close, SECCOMP_RET_ERRNO | 1);
  const CallFilter strict = only(__NR_close, SECCOMP_RET_KILL_PROCESS);
  for (const auto& filters : {std::vector{lenient, strict}, std::vector{strict, lenient}})
    CHECK(why(filters) == "its filter for system calls (seccomp) kills it at close");
  // Filters look at arguments: memory that is code is forbidden, other memory is not.
  const CallFilter no_code{load(number_at),
                           is(__NR_mmap, 0, 3),
                           load(third_argument_at),
                           BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
                           give(SECCOMP_RET_KILL_PROCESS),
                           give(SECCOMP_RET_ALLOW)};
  CHECK(why({no_code}) == "its filter for system calls (seccomp) kills it at mmap (of code)");
}
