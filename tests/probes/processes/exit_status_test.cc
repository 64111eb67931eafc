// SPDX-License-Identifier: BSD-2-Clause
#include "probes/processes/exit_status.h"

#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "core/unique_fd.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("how a process ended that nobody has waited for yet") {
  for (const int signal : {0, SIGKILL}) {
    CAPTURE(signal);
    const pid_t pid = ::fork();
    if (pid == 0) {
      if (signal != 0) ::kill(::getpid(), signal);
      ::_exit(7);
    }
    const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    siginfo_t info{};
    REQUIRE(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) == 0);
    const uint32_t status = exit_status_of(process.get(), pid);
    CHECK(status == (signal == 0 ? 7U << 8 : static_cast<uint32_t>(signal)));
    int left = 0;
    CHECK(::waitpid(pid, &left, 0) == pid);
    CHECK(static_cast<uint32_t>(left) == status);
    // Older kernels have forgotten it by now.
    const uint32_t after = exit_status_of(process.get(), pid);
    CHECK((after == status || after == 0));
  }
}

TEST_CASE("each kill of the kernel explains one process") {
  const std::string file = "/tmp/memflame-vmstat-" + std::to_string(::getpid());
  const auto write = [&file](const char* kills) {
    std::ofstream(file) << "pgfault 5\noom_kill " << kills << "\nnuma_hit 1\n" << std::flush;
  };
  write("3");
  OomKills kills(file);
  CHECK_FALSE(kills.explain());
  write("5");
  CHECK(kills.explain());
  CHECK(kills.explain());
  CHECK_FALSE(kills.explain());
  ::unlink(file.c_str());
  CHECK_FALSE(OomKills(file).explain());
}
