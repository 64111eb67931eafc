// SPDX-License-Identifier: BSD-2-Clause
// Allocates memory, touches it and ends: a profiler has to learn names while it runs.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void* volatile sink;

__attribute__((noinline)) void allocate_and_vanish(void) {
  void* block = malloc(123456);
  if (block == NULL) _exit(1);
  memset(block, 1, 123456);
  sink = block;
}

int main(void) {
  allocate_and_vanish();
  _exit(0);
}
