// SPDX-License-Identifier: BSD-2-Clause
// Forks a child that forks a child that forks a child. Each of the four processes allocates a known
// amount in a function of its own; the last one then executes this program again, as another
// process image with the same pid.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "examples/truth/report.h"

namespace {

void* volatile sink = nullptr;

}  // namespace

extern "C" {

[[gnu::noinline]] void parent_allocates() { sink = malloc(10001); }
[[gnu::noinline]] void child_allocates() { sink = malloc(20002); }
[[gnu::noinline]] void grandchild_allocates() { sink = malloc(30003); }
[[gnu::noinline]] void last_child_allocates() { sink = malloc(40004); }
[[gnu::noinline]] void executed_allocates() { sink = malloc(50005); }

}  // extern "C"

namespace {

struct Generation {
  const char* name;
  void (*allocate)();
  int64_t bytes;
};

constexpr Generation generations[] = {
    {"parent_allocates", parent_allocates, 10001},
    {"child_allocates", child_allocates, 20002},
    {"grandchild_allocates", grandchild_allocates, 30003},
    {"last_child_allocates", last_child_allocates, 40004},
};
constexpr size_t generation_count = sizeof generations / sizeof generations[0];

// Allocates, starts the next generation, and returns when that has ended.
void live(size_t index) {
  generations[index].allocate();
  if (index + 1 == generation_count) {
    execl("/proc/self/exe", "forker", "--executed", nullptr);
    truth::fail("exec failed");
  }
  const pid_t child = fork();
  if (child == 0) {
    live(index + 1);
    _exit(0);
  }
  int status = 1;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
    truth::fail("a child failed");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--executed") == 0) {
    executed_allocates();
    _exit(0);
  }
  truth::begin(argc, argv);
  live(0);
  for (const Generation& generation : generations)
    truth::state(generation.allocate == parent_allocates ? "functions" : "children",
                 generation.name, "live", generation.bytes);
  truth::state("children", "executed_allocates", "live", 50005);
  return truth::end();
}
