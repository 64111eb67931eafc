// SPDX-License-Identifier: BSD-2-Clause
// A server that forks a child for each request: many_children CHILDREN. Each child leaves a block
// of 1,000 bytes and frees one of 500, then ends. Begins after a line on its standard input, has
// one more child after a second, and ends after a third.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>

extern "C" void leave_a_block();

namespace {

void* volatile kept;

bool wait_for_line() {
  char line[16];
  return std::fgets(line, sizeof(line), stdin) != nullptr;
}

}  // namespace

[[gnu::noinline]] void leave_a_block() {
  kept = std::malloc(1000);
  void* volatile freed = std::malloc(500);
  std::free(freed);
}

namespace {

bool have_child() {
  const pid_t child = ::fork();
  if (child == 0) {
    leave_a_block();
    ::_exit(0);
  }
  int status = 1;
  return child >= 0 && ::waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return 1;
  std::puts("ready");
  for (int more : {std::atoi(arguments[1]), 1}) {
    std::fflush(stdout);
    if (!wait_for_line()) return 1;
    for (; more > 0; --more)
      if (!have_child()) return 1;
    std::puts("done");
  }
  std::fflush(stdout);
  return wait_for_line() ? 0 : 1;
}
