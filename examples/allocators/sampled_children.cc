// SPDX-License-Identifier: BSD-2-Clause
// Forks children one after another, which all do the same: they allocate blocks, free those that
// the parent had allocated, and half of their own. A profiler that samples must draw anew in each
// child: with its parent's draws, all would have the same blocks sampled.
//
//   alloc_sampled_children [--wait]
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "examples/truth/report.h"

namespace {

constexpr int children = 200;
constexpr size_t inherited_count = 2000, inherited_bytes = 4096;
constexpr size_t own_count = 100, own_bytes = 1000;

void* inherited[inherited_count];
void* own[own_count];

void fill(void** blocks, size_t count, void* (*allocate)()) {
  for (size_t i = 0; i < count; ++i)
    if ((blocks[i] = allocate()) == nullptr) truth::fail("an allocation failed");
}

void state(const char* name, int64_t bytes, int64_t count, int64_t live, int64_t live_count) {
  truth::state("functions", name, "total", bytes);
  truth::state("functions", name, "total_count", count);
  truth::state("functions", name, "live", live);
  truth::state("functions", name, "live_count", live_count);
}

}  // namespace

extern "C" {

[[gnu::noinline]] void* before_fork() { return malloc(inherited_bytes); }
[[gnu::noinline]] void* in_child() { return malloc(own_bytes); }

[[gnu::noinline]] void work_in_child() {
  fill(own, own_count, in_child);
  for (void* block : inherited) free(block);
  for (size_t i = 0; i < own_count; i += 2) free(own[i]);
}

}  // extern "C"

int main(int argc, char** argv) {
  truth::begin(argc, argv);
  fill(inherited, inherited_count, before_fork);
  for (int i = 0; i < children; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      work_in_child();
      _exit(0);
    }
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
      truth::fail("a child failed");
  }
  for (void* block : inherited) free(block);
  state("before_fork", inherited_count * inherited_bytes, inherited_count, 0, 0);
  constexpr int64_t count = children * own_count;
  state("in_child", count * own_bytes, count, count * own_bytes / 2, count / 2);
  return truth::end();
}
