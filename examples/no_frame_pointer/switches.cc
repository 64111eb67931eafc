// SPDX-License-Identifier: BSD-2-Clause
// Other stacks: threads, a thread on a small stack, contexts.
#include <pthread.h>
#include <ucontext.h>

#include <climits>
#include <thread>

#include "examples/no_frame_pointer/sites.h"
#include "examples/truth/report.h"

namespace chain {

OWN_FRAME void in_std_thread(int) { event(); }
OWN_FRAME void starts_std_thread() {
  std::thread thread(in_std_thread, 5);
  thread.join();
  keep();
}

OWN_FRAME void in_small_thread() { event(); }
OWN_FRAME void* runs_on_small_stack(void* argument) {
  in_small_thread();
  keep();
  return argument;
}
OWN_FRAME void starts_small_thread() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 32768);
  pthread_t thread{};
  if (pthread_create(&thread, &attributes, runs_on_small_stack, nullptr) != 0)
    truth::fail("no thread with a small stack");
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  keep();
}

ucontext_t main_context, other_context;
alignas(16) char other_stack[32 << 10];

OWN_FRAME void in_context() { event(); }
OWN_FRAME void runs_in_context() {
  in_context();
  swapcontext(&other_context, &main_context);
  in_context();
  keep();
}
OWN_FRAME void back_in_main_context() { event(); }
OWN_FRAME void switches_contexts() {
  getcontext(&other_context);
  other_context.uc_stack.ss_sp = other_stack;
  other_context.uc_stack.ss_size = sizeof other_stack;
  other_context.uc_link = &main_context;
  makecontext(&other_context, runs_in_context, 0);
  swapcontext(&main_context, &other_context);
  back_in_main_context();
  swapcontext(&main_context, &other_context);
  keep();
}

namespace {
// A thread's stack ends in the C library; a context's stack ends where the library starts it.
constexpr Site list[] = {
    {"chain::in_std_thread(int)", "+", starts_std_thread, 1},
    {"chain::starts_std_thread()", "chain::one_round();main;+;_start", nullptr, 0},
    {"chain::in_small_thread()", "chain::runs_on_small_stack(void*);+", starts_small_thread, 1},
    {"chain::starts_small_thread()", "chain::one_round();main;+;_start", nullptr, 0},
    {"chain::in_context()", "chain::runs_in_context();.", switches_contexts, 2},
    {"chain::back_in_main_context()", "chain::switches_contexts()" TO_MAIN, nullptr, 1},
};
}  // namespace

std::span<const Site> switch_sites() { return list; }

}  // namespace chain
