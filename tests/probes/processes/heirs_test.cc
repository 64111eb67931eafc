// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/heirs.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>

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
