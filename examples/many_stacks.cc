// SPDX-License-Identifier: BSD-2-Clause
// Allocates 16 bytes on each of COUNT different call stacks (default 65,536, at most 1,048,576):
// the bits of a number decide which of two functions calls on.
//
//   many_stacks [COUNT] [--wait]
#include <cstdint>
#include <cstdlib>

#include "examples/truth/report.h"

namespace {

void* volatile sink = nullptr;
volatile int depth = 20;

}  // namespace

extern "C" {

void step_left(uint32_t path, int left);
void step_right(uint32_t path, int left);

[[gnu::noinline]] void reach_leaf() { sink = malloc(16); }

[[gnu::noinline]] void walk(uint32_t path, int left) {
  if (left == 0)
    reach_leaf();
  else if ((path & 1) != 0)
    step_right(path >> 1, left - 1);
  else
    step_left(path >> 1, left - 1);
  asm volatile("");  // no tail calls
}
[[gnu::noinline]] void step_left(uint32_t path, int left) {
  walk(path, left);
  asm volatile("");
}
[[gnu::noinline]] void step_right(uint32_t path, int left) {
  walk(path, left);
  asm volatile("# not the same as step_left");
}

}  // extern "C"

int main(int argc, char** argv) {
  int64_t count = argc > 1 ? std::strtoll(argv[1], nullptr, 10) : 0;
  if (count <= 0) count = 65536;
  truth::begin(argc, argv);
  for (int64_t i = 0; i < count; ++i) walk(static_cast<uint32_t>(i), depth);
  truth::state("functions", "reach_leaf", "live", 16 * count);
  truth::state("functions", "reach_leaf", "live_count", count);
  truth::state("functions", "reach_leaf", "total", 16 * count);
  truth::state("functions", "reach_leaf", "total_count", count);
  return truth::end();
}
