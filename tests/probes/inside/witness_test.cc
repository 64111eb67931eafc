// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/witness.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

using namespace memflame::inside;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("what a process and its children execute is told, also if they have ended") {
  Witness witness;
  if (!witness.works()) {
    MESSAGE("the kernel does not tell: kernel.perf_event_paranoid, or a filter of system calls");
    return;
  }
  std::array<int, 2> go{};
  REQUIRE(::pipe2(go.data(), O_CLOEXEC) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    char byte = 0;
    if (::read(go[0], &byte, 1) == 1)
      ::execl("/bin/sh", "sh", "-c", "/bin/true; (ls /dev/null >/dev/null; true)", nullptr);
    ::_exit(1);
  }
  witness.watch(child, true);
  CHECK(witness.take().empty());
  REQUIRE(::write(go[1], "x", 1) == 1);
  CHECK(::waitpid(child, nullptr, 0) == child);
  std::vector<std::string> names;
  for (const auto& left : witness.take()) names.push_back(left.name);
  CHECK(names == std::vector<std::string>{"true", "ls"});
  CHECK(witness.lost() == 0);
  for (const int end : go) ::close(end);
}
