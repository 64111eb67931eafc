// SPDX-License-Identifier: BSD-2-Clause
#include "probes/reach/tracing.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "probes/system/procfs.h"
#include "tests/support/scaled.h"

using namespace memflame;

TEST_CASE("a process that was tried can be traced at once") {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  REQUIRE(child > 0);
  int still_traced = 0;
  for (size_t i = 0; i < scaled(5000); ++i) {
    REQUIRE(why_not_traceable(child) == "");
    still_traced += status_field(read_file(proc_path(child, "status")), "TracerPid") != "0";
  }
  CHECK(still_traced == 0);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}
