// SPDX-License-Identifier: BSD-2-Clause
// Handlers of signals that the program raises itself: on the current stack and on one of their own,
// nested, and left by a jump.
#include <sys/mman.h>
#include <ucontext.h>

#include <csetjmp>
#include <csignal>

#include "examples/no_frame_pointer/prepare.h"
#include "examples/no_frame_pointer/sites.h"
#include "examples/truth/report.h"

namespace chain {

alignas(16) char signal_stack[64 << 10];
char* guard_page = nullptr;

OWN_FRAME void on_usr1(int) { event(); }
OWN_FRAME void raises_usr1() {
  std::raise(SIGUSR1);
  keep();
}

OWN_FRAME void on_usr2(int, siginfo_t*, void*) { event(); }
OWN_FRAME void raises_usr2() {
  std::raise(SIGUSR2);
  keep();
}

// The interrupted instruction is movb $1, (%rdi), three bytes long: continues after it.
OWN_FRAME void on_segv(int, siginfo_t*, void* context) {
  event();
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP] += 3;
}
OWN_FRAME void writes_to_guard(char* page) {
  asm volatile(".byte 0xc6, 0x07, 0x01" : : "D"(page) : "memory");
}
OWN_FRAME void is_interrupted() {
  writes_to_guard(guard_page);
  keep();
}

// A handler that is interrupted by another on the other stack, and that by a third.
OWN_FRAME void on_innermost(int) { event(); }
OWN_FRAME void on_middle(int) {
  std::raise(SIGRTMIN + 2);
  keep();
}
OWN_FRAME void on_outermost(int) {
  std::raise(SIGRTMIN + 1);
  keep();
}
OWN_FRAME void raises_outermost() {
  std::raise(SIGRTMIN);
  keep();
}

sigjmp_buf out_of_handler;
OWN_FRAME void leaves_by_jump(int) {
  event();
  siglongjmp(out_of_handler, 1);
}
OWN_FRAME void raises_and_lands() {
  if (sigsetjmp(out_of_handler, 1) == 0) std::raise(SIGRTMIN + 3);
  keep();
}

// Handled while waiting in the kernel.
OWN_FRAME void on_suspended(int) { event(); }
OWN_FRAME void is_suspended() {
  sigset_t blocked, open;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGURG);
  sigprocmask(SIG_BLOCK, &blocked, &open);
  std::raise(SIGURG);
  sigsuspend(&open);
  sigprocmask(SIG_SETMASK, &open, nullptr);
  keep();
}

void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  if (sigaction(signal, &action, nullptr) != 0) truth::fail("no handler for a signal");
}
void handle(int signal, void (*handler)(int, siginfo_t*, void*), int flags) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = flags | SA_SIGINFO;
  if (sigaction(signal, &action, nullptr) != 0) truth::fail("no handler for a signal");
}

void prepare_signals() {
  stack_t stack{};
  stack.ss_sp = signal_stack;
  stack.ss_size = sizeof signal_stack;
  if (sigaltstack(&stack, nullptr) != 0) truth::fail("no stack for signals");
  guard_page =
      static_cast<char*>(mmap(nullptr, page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  handle(SIGUSR1, on_usr1, 0);
  handle(SIGUSR2, on_usr2, SA_ONSTACK);
  handle(SIGSEGV, on_segv, SA_ONSTACK);
  handle(SIGRTMIN, on_outermost, 0);
  handle(SIGRTMIN + 1, on_middle, SA_ONSTACK);
  handle(SIGRTMIN + 2, on_innermost, SA_ONSTACK);
  handle(SIGRTMIN + 3, leaves_by_jump, 0);
  handle(SIGURG, on_suspended, 0);
}

namespace {
constexpr Site list[] = {
    {"chain::on_usr1(int)", "+;chain::raises_usr1()" TO_MAIN, raises_usr1, 1},
    {"chain::on_usr2(int, siginfo_t*, void*)", "+;chain::raises_usr2()" TO_MAIN, raises_usr2, 1},
    {"chain::on_segv(int, siginfo_t*, void*)",
     "+;chain::writes_to_guard(char*);chain::is_interrupted()" TO_MAIN, is_interrupted, 1},
    // Counts the faults themselves.
    {"chain::writes_to_guard(char*)", "chain::is_interrupted()" TO_MAIN, nullptr, 0},
    {"chain::on_innermost(int)",
     "+;chain::on_middle(int);+;chain::on_outermost(int);+;chain::raises_outermost()" TO_MAIN,
     raises_outermost, 1},
    {"chain::leaves_by_jump(int)", "+;chain::raises_and_lands()" TO_MAIN, raises_and_lands, 1},
    {"chain::on_suspended(int)", "+;chain::is_suspended()" TO_MAIN, is_suspended, 1},
};
}  // namespace

std::span<const Site> signal_sites() { return list; }

}  // namespace chain
