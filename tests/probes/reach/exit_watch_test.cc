// SPDX-License-Identifier: BSD-2-Clause
#include "probes/reach/exit_watch.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

using namespace memflame;

TEST_CASE("a process that was let go of is not held any more") {
  int go[2];
  REQUIRE(::pipe(go) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char word = 0;
    if (::read(go[0], &word, 1) == 1) ::execl("/bin/true", "true", nullptr);
    ::_exit(1);
  }
  REQUIRE(child > 0);
  {
    ExitWatch watch(child, "--reachable");
    REQUIRE(::write(go[1], "g", 1) == 1);
    while (!watch.held()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    watch.let_go();
    CHECK(!watch.held());
  }
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 0);
  ::close(go[0]);
  ::close(go[1]);
}
