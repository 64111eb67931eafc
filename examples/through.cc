// SPDX-License-Identifier: BSD-2-Clause
// A library for remapped, built twice with another NAME and SIZE. Its code uses nothing but its
// arguments, so that it works wherever it is mapped.
#include "examples/chains/event.h"

extern "C" __attribute__((visibility("default"))) OWN_FRAME void NAME(void (*call)()) {
  char frame[SIZE];
  chain::keep(frame);
  call();
  chain::keep(frame);
}
