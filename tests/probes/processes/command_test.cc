// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/command.h"

#include <doctest/doctest.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "core/error.h"
#include "tests/support/skipped.h"

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

TEST_CASE("the libraries of a program, of a script, and of what is neither") {
  const auto has_libc = [](const std::vector<std::string>& files) {
    return std::any_of(files.begin(), files.end(), [](const std::string& file) {
      return file.find("/libc.so") != std::string::npos;
    });
  };
  CHECK(has_libc(libraries_of("/bin/sh")));
  CHECK_FALSE(has_libc(libraries_of("/etc/hostname")));
  CHECK_FALSE(has_libc(libraries_of("/no/such/file")));
}

TEST_CASE("the loader that a program names runs as the program's user") {
  if (::geteuid() != 0) return skip("only root can become another user");
  // Anybody's program may name any file; only the file's name has to be that of a loader.
  const std::string name = "/tmp/ld-linux-" + std::to_string(::getpid());
  const std::string standard = "/lib64/ld-linux-x86-64.so.2";
  REQUIRE(name.size() < standard.size());
  std::ifstream file("/bin/sh", std::ios::binary);
  std::string program{std::istreambuf_iterator<char>(file), {}};
  const size_t at = program.find(standard);
  REQUIRE(at != std::string::npos);
  program.replace(at, standard.size(), name + std::string(standard.size() - name.size(), '\0'));
  const std::string copy = name + ".sh";
  std::ofstream(copy, std::ios::binary) << program;
  std::ofstream(name) << "#!/bin/sh\necho \"x => /uid/$(id -u) (0x0)\"\n";
  REQUIRE(::chmod(name.c_str(), 0755) == 0);
  REQUIRE(::chmod(copy.c_str(), 0755) == 0);
  const std::vector<std::string> as_nobody = libraries_of(copy, "", "nobody");
  CHECK(as_nobody.back() == "/uid/" + std::to_string(::getpwnam("nobody")->pw_uid));
  CHECK(libraries_of(copy).back() == "/uid/0");
  ::unlink(name.c_str());
  ::unlink(copy.c_str());
}
