// SPDX-License-Identifier: BSD-2-Clause
// A library for same_place, built several times with different NAME and SIZE, and otherwise the
// same code: the functions of all of them lie at the same offsets.
#include <cstdlib>

#define JOIN_NOW(a, b) a##b
#define JOIN(a, b) JOIN_NOW(a, b)

namespace {
void* volatile kept = nullptr;
}

extern "C" {
[[gnu::noinline]] void JOIN(leak_, NAME)() { kept = std::malloc(SIZE); }

// Returns how much it does not free.
__attribute__((visibility("default"))) int run_tenant() {
  JOIN(leak_, NAME)();
  kept = nullptr;
  return SIZE;
}
}
