// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/heirs.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "probes/processes/command.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("a process is found by a variable that its ended parent was given") {
  const std::string variable = "MEMFLAME_HEIRS_TEST=" + std::to_string(::getpid());
  CHECK(processes_with(variable).empty());
  std::array<int, 2> input{}, told{};
  REQUIRE(::pipe2(input.data(), O_CLOEXEC) == 0);
  REQUIRE(::pipe2(told.data(), O_CLOEXEC) == 0);
  // The second shell runs on until its input ends.
  Command command({"sh", "-c", "exec 3<&0; sh -c 'echo; read line <&3' & exit 5"}, "", {variable},
                  {.in = input[0], .out = told[1]});
  command.release();
  ::close(input[0]);
  ::close(told[1]);
  CHECK(command.wait() == 5);
  char byte = 0;
  CHECK(::read(told[0], &byte, 1) == 1);
  CHECK(processes_with(variable).size() == 1);
  CHECK(processes_with(variable + "0").empty());
  ::close(input[1]);
  CHECK(::read(told[0], &byte, 1) == 0);  // it has ended
  ::close(told[0]);
}

TEST_CASE("who loses its parent becomes a child of this process, and is waited for when it ends") {
  const auto is_orphan = [](pid_t pid) { return std::ranges::count(orphans(), pid) == 1; };
  const pid_t own = ::fork();
  REQUIRE(own >= 0);
  if (own == 0) ::pause();
  adopt_orphans();
  std::array<int, 2> told{};
  REQUIRE(::pipe2(told.data(), O_CLOEXEC) == 0);
  const pid_t parent = ::fork();
  REQUIRE(parent >= 0);
  if (parent == 0) {
    const pid_t orphan = ::fork();
    if (orphan == 0) ::pause();
    [[maybe_unused]] const ssize_t written = ::write(told[1], &orphan, sizeof(orphan));
    ::_exit(0);
  }
  pid_t orphan = 0;
  REQUIRE(::read(told[0], &orphan, sizeof(orphan)) == sizeof(orphan));
  CHECK(descends_from(orphan, {parent, ::getpid()}));
  CHECK(::waitpid(parent, nullptr, 0) == parent);
  CHECK(is_orphan(orphan));
  CHECK_FALSE(is_orphan(own));
  CHECK(std::ranges::count(with_descendants({::getpid()}), orphan) == 1);
  CHECK_FALSE(descends_from(orphan, {parent}));
  siginfo_t ended{};
  for (const pid_t child : {own, orphan}) {
    ::kill(child, SIGKILL);
    CHECK(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) == 0);
  }
  reap_orphans();
  CHECK_FALSE(is_orphan(orphan));
  CHECK(::waitpid(own, nullptr, 0) == own);
  for (const int end : told) ::close(end);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}
