// SPDX-License-Identifier: BSD-2-Clause
// Throws std::bad_alloc out of operator new three times and catches it. Under a profiler with a
// return probe on operator new, the unwinder would meet the probe's trampoline and end the program.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>

namespace {

volatile size_t impossible = PTRDIFF_MAX;
void* volatile sink = nullptr;

}  // namespace

extern "C" {

[[gnu::noinline]] void ask_for_too_much() { sink = ::operator new(impossible); }
[[gnu::noinline]] void ask_for_little() { sink = ::operator new(4321); }

}  // extern "C"

int main() {
  int caught = 0;
  for (int i = 0; i < 3; ++i) {
    ask_for_little();
    try {
      ask_for_too_much();
    } catch (const std::bad_alloc&) {
      ++caught;
    }
  }
  ask_for_little();
  std::printf("caught %d\n", caught);
  return caught == 3 ? 0 : 1;
}
