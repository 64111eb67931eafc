// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/command.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>

#include <string>
#include <vector>

#include "core/error.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

ExitCode refusal(const std::vector<std::string>& argv, const std::string& user = "") {
  try {
    Command command(argv, user);
    command.release();
    command.wait();
  } catch (const Error& error) {
    return error.exit_code;
  }
  return ExitCode::ok;
}

}  // namespace

TEST_CASE("the status of the command, also when a signal ends it") {
  Command seven({"sh", "-c", "exit $1", "sh", "7"}, "");
  seven.release();
  CHECK(seven.wait() == 7);
  Command killed({"sh", "-c", "kill -TERM $$"}, "");
  killed.release();
  CHECK(killed.wait() == 128 + SIGTERM);
}

TEST_CASE("nothing runs before release, and without it nothing ever does") {
  const std::string mark = "/tmp/memflame-command-test-" + std::to_string(::getpid());
  {
    Command never({"touch", mark}, "");
    ::usleep(50000);
    CHECK(::access(mark.c_str(), F_OK) != 0);
  }
  CHECK(::access(mark.c_str(), F_OK) != 0);
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);  // and no child is left behind
}

TEST_CASE("what cannot be run is told as a shell would tell it") {
  CHECK(refusal({"no-such-command-anywhere"}) == ExitCode::not_found);
  CHECK(refusal({"/no/such/file"}) == ExitCode::not_found);
  CHECK(refusal({"/etc"}) == ExitCode::cannot_execute);
  CHECK(refusal({"/etc/hostname"}) == ExitCode::cannot_execute);
  CHECK(refusal({""}) == ExitCode::not_found);
  CHECK(refusal({"true"}, "no such user") == ExitCode::failure);
}
