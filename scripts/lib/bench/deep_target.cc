// SPDX-License-Identifier: BSD-2-Clause
// Allocates at the bottom of a recursion, in code with frame pointers.
//
//   deep_target DEPTH
//
// Says "ready", then for each number read from standard input allocates and frees so often and says
// "done".
#include <cstdio>
#include <cstdlib>

namespace {

// Not in the loop's caller, so that a depth is that of malloc's caller.
__attribute__((noinline)) void allocate(long times) {
  for (long i = 0; i < times; ++i) {
    void* volatile block = std::malloc(64);
    std::free(block);
  }
}

__attribute__((noinline)) int descend(int depth, long times) {
  if (depth <= 1) {
    allocate(times);
    return 1;
  }
  const int below = descend(depth - 1, times);
  __asm__ volatile("");  // no tail call, no loop
  return below + 1;
}

}  // namespace

int main(int argc, char** argv) {
  const int depth = argc > 1 ? std::atoi(argv[1]) : 1;
  long times = 0;
  std::setvbuf(stdout, nullptr, _IOLBF, 256);
  std::setvbuf(stdin, nullptr, _IOLBF, 256);
  std::puts("ready");
  while (std::scanf("%ld", &times) == 1) {
    // main, descend … descend, allocate: as many frames as asked for, besides the start of a
    // program.
    if (descend(depth - 2, times) < 1) return 1;
    std::puts("done");
  }
}
