// SPDX-License-Identifier: BSD-2-Clause
#include "filter.h"

#include "join.h"
#include "sys.h"

namespace memflame::inside {

uint32_t filtered;
uint32_t timeless;

namespace {

// The thread's id in its control block: glibc (since 2.3) and musl. fork() has the kernel set it.
constexpr uint32_t id_places[] = {0x2d0, 0x30};
uint32_t id_place;  // the one of them that holds it; 0 = none
long process_id;    // when it was asked for last
// When it was asked for last. A forked child has its parent's.
__thread long thread_id __attribute__((tls_model("initial-exec")));

long id_at(uint32_t place) { return *reinterpret_cast<const int*>(thread_block() + place); }

Ids asked_ids() {
  process_id = syscall6(__NR_getpid);
  thread_id = syscall6(__NR_gettid);
  for (const uint32_t place : id_places)
    if (id_place == 0 && id_at(place) == thread_id) id_place = place;
  return {process_id, thread_id};
}

const char* behind(const char* text, const char* end, const char* name) {
  for (; text < end; ++text) {
    const char* at = text;
    const char* letter = name;
    while (at < end && *letter != 0 && *at == *letter) ++at, ++letter;
    if (*letter == 0) return at;
  }
  return nullptr;
}

uint64_t number_at(const char* text, const char* end) {
  uint64_t number = 0;
  while (text < end && (*text == ' ' || *text == '\t')) ++text;
  for (; text < end && *text >= '0' && *text <= '9'; ++text)
    number = number * 10 + static_cast<uint64_t>(*text - '0');
  return number;
}

}  // namespace

bool begins_filtered(uint64_t filters_of_memflame) {
  constexpr long read_only_cloexec = 02000000;
  char text[4096];
  const long fd = syscall6(__NR_openat, -100, as_word("/proc/self/status"), read_only_cloexec);
  if (failed(fd)) return false;
  const long got = syscall6(__NR_read, fd, as_word(text), sizeof(text));
  syscall6(__NR_close, fd);
  if (failed(got)) return false;
  const char* const end = text + got;
  const char* const mode = behind(text, end, "\nSeccomp:");
  if (mode == nullptr || number_at(mode, end) == 0) return false;
  const char* const count = behind(text, end, "\nSeccomp_filters:");
  return count == nullptr || number_at(count, end) > filters_of_memflame;
}

bool begins_timeless() {
  constexpr long get_tsc = 25, tsc_crashes = 2;
  int mode = 0;
  return !failed(syscall6(__NR_prctl, get_tsc, as_word(&mode))) && mode == tsc_crashes;
}

Ids own_ids() {
  if (!is_filtered()) return asked_ids();
  if (id_place != 0) thread_id = id_at(id_place);
  return {process_id, thread_id};
}

// What is still the parent's was not set: the child was not made by fork().
Ids ids_of_child() {
  if (!is_filtered()) return asked_ids();
  const long id = id_place != 0 ? id_at(id_place) : 0;
  process_id = thread_id = id == thread_id ? 0 : id;
  return {process_id, thread_id};
}

void rest_a_little(uint32_t microseconds, uint64_t ticks_per_ms) {
  if (!is_filtered()) return nap(microseconds);
  const uint64_t began = ticks();
  while (ticks() - began < microseconds * ticks_per_ms / 1000) __builtin_ia32_pause();
}

namespace {

// This thread gives it up, and with it those that it makes. The process speaks as long as it may.
void lose_time() {
  begin_process();
  end_thread(self);
  store(timeless, 1U);
}

}  // namespace
}  // namespace memflame::inside

extern "C" {
__attribute__((visibility("hidden"))) uint64_t memflame_real_prctl, memflame_real_syscall;
__attribute__((visibility("hidden"), used)) void memflame_find_real() {
  memflame::inside::find_real();
}

// A filter is about to come: from now on the agent makes no system calls here. A strict one takes
// the time stamp counter away, too.
__attribute__((visibility("hidden"), used)) void memflame_before_prctl(int option, long value) {
  constexpr int set_seccomp = 22, set_tsc = 26;
  constexpr long strict = 1, tsc_crashes = 2;
  if ((option == set_tsc && value == tsc_crashes) || (option == set_seccomp && value == strict))
    memflame::inside::lose_time();
  if (option == set_seccomp) memflame::inside::store(memflame::inside::filtered, 1U);
}
__attribute__((visibility("hidden"), used)) void memflame_before_syscall(int number, long first,
                                                                         long second) {
  constexpr int prctl_number = 157, seccomp_number = 317, set_seccomp = 22;
  if (number == prctl_number) memflame_before_prctl(static_cast<int>(first), second);
  if (number == seccomp_number) memflame_before_prctl(set_seccomp, first == 0 ? 1 : 2);
}
}

// Before the agent has found the real functions it calls the kernel itself.
// NOLINTBEGIN(cppcoreguidelines-macro-usage)
// Around the call of a C function, at the begin of one that has its arguments in registers.
#define MEMFLAME_SAVE                            \
  "push %rdi\npush %rsi\npush %rdx\npush %rcx\n" \
  "push %r8\npush %r9\npush %rax\n"              \
  ".cfi_adjust_cfa_offset 56\n"
#define MEMFLAME_RESTORE                     \
  "pop %rax\npop %r9\npop %r8\n"             \
  "pop %rcx\npop %rdx\npop %rsi\npop %rdi\n" \
  ".cfi_adjust_cfa_offset -56\n"

// `numbers` jumps to 1 for calls that memflame_before_NAME() is to know of, and to 2 for others.
#define MEMFLAME_CALLS_KERNEL(name, numbers, calls)                                                \
  asm(".text\n"                                                                                    \
      ".p2align 4\n"                                                                               \
      ".globl " #name ", memflame_" #name                                                          \
      "\n"                                                                                         \
      ".hidden memflame_" #name                                                                    \
      "\n"                                                                                         \
      ".type " #name                                                                               \
      ", @function\n"                                                                              \
      ".type memflame_" #name ", @function\n" #name ":\nmemflame_" #name                           \
      ":\n"                                                                                        \
      ".cfi_startproc\n"                                                                           \
      "endbr64\n" numbers "1:\n" MEMFLAME_SAVE "call memflame_before_" #name "\n" MEMFLAME_RESTORE \
      "2: mov memflame_real_" #name                                                                \
      "(%rip), %r11\n"                                                                             \
      "test %r11, %r11\n"                                                                          \
      "jz 3f\n"                                                                                    \
      "jmp *%r11\n"                                                                                \
      "3:\n" MEMFLAME_SAVE "call memflame_find_real\n" MEMFLAME_RESTORE "mov memflame_real_" #name \
      "(%rip), %r11\n"                                                                             \
      "test %r11, %r11\n"                                                                          \
      "jz 4f\n"                                                                                    \
      "jmp *%r11\n"                                                                                \
      "4: " calls                                                                                  \
      "syscall\n"                                                                                  \
      "cmp $-4096, %rax\n"                                                                         \
      "jb 5f\n"                                                                                    \
      "mov $-1, %rax\n"                                                                            \
      "5: ret\n"                                                                                   \
      ".cfi_endproc\n"                                                                             \
      ".size memflame_" #name ", . - memflame_" #name "\n")
// NOLINTEND(cppcoreguidelines-macro-usage)

// prctl(PR_SET_SECCOMP, …), prctl(PR_SET_TSC, …)
MEMFLAME_CALLS_KERNEL(prctl,
                      "cmp $22, %edi\n"
                      "je 1f\n"
                      "cmp $26, %edi\n"
                      "jne 2f\n",
                      "mov $157, %eax\n"
                      "mov %rcx, %r10\n");
// syscall(SYS_seccomp, …), syscall(SYS_prctl, …)
MEMFLAME_CALLS_KERNEL(syscall,
                      "cmp $317, %edi\n"
                      "je 1f\n"
                      "cmp $157, %edi\n"
                      "jne 2f\n",
                      "mov %rdi, %rax\n"
                      "mov %rsi, %rdi\n"
                      "mov %rdx, %rsi\n"
                      "mov %rcx, %rdx\n"
                      "mov %r8, %r10\n"
                      "mov %r9, %r8\n"
                      "mov 8(%rsp), %r9\n");
