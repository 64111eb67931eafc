// SPDX-License-Identifier: BSD-2-Clause
// A library for late.cc that allocates with whatever malloc() the program has.
#include <cstddef>
#include <cstdlib>

#define LATE_API extern "C" __attribute__((noinline, visibility("default")))

namespace {
void* volatile sink = nullptr;  // makes every block escape
}

LATE_API void plugin_allocates(size_t size) {
  for (int i = 0; i < 100; ++i) sink = malloc(size);
}
LATE_API void plugin_frees(size_t size) {
  for (int i = 0; i < 100; ++i) {
    sink = malloc(size);
    free(sink);
  }
}
