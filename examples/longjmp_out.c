// SPDX-License-Identifier: BSD-2-Clause
// Leaves posix_memalign() by siglongjmp(), many times: it faults when it stores its result, and the
// signal handler jumps. Return probes that never fire must not disturb the program or later
// figures.
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static sigjmp_buf back;
static void** volatile nowhere = (void**)8;
static void* volatile sink;

static void on_fault(int signal) { siglongjmp(back, signal); }

__attribute__((noinline)) void jump_out(void) {
  if (posix_memalign(nowhere, 64, 100) == 0) exit(1);
}

__attribute__((noinline)) void allocate_after_jumps(void) {
  for (int i = 0; i < 10; ++i) sink = malloc(5000);
}

int main(void) {
  volatile int jumps = 0;
  struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};
  sigaction(SIGSEGV, &action, NULL);
  while (jumps < 200) {
    if (sigsetjmp(back, 1) == 0) {
      jump_out();
      return 1;
    }
    ++jumps;
  }
  allocate_after_jumps();
  printf("jumped back %d\n", jumps);
  return 0;
}
