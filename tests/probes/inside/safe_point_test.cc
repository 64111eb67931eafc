// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/attach/safe_point.h"

#include <asm/unistd.h>
#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace memflame::inside;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr long none = -1;

// Frames by their letters, leaf first: p = program, c = C library, l = dynamic linker, a =
// allocator, g = agent, k = kernel's page. A capital letter is exact.
std::string judged(const std::string& letters, long system_call, bool waits = false) {
  std::vector<PlacedFrame> frames;
  for (const char letter : letters) {
    PlacedFrame frame;
    frame.is_return = letter >= 'a';
    switch (letter | 32) {
      case 'c':
        frame.place = Place::library_c;
        break;
      case 'l':
        frame.place = Place::loader;
        break;
      case 'a':
        frame.place = Place::allocator;
        break;
      case 'g':
        frame.place = Place::agent;
        break;
      case 'k':
        frame.place = Place::kernel;
        break;
      default:
        break;
    }
    frames.push_back(frame);
  }
  return why_unsafe(frames, system_call, [waits](size_t) { return waits; });
}

}  // namespace

TEST_CASE("a thread is safe in the program's own code, and where it waits") {
  CHECK(judged("Pppccp", none).empty());  // main(), called by libc, called by _start
  CHECK(judged("Ppcc", none).empty());    // a thread's function
  CHECK(judged("Cppccp", __NR_read).empty());
  CHECK(judged("Ccpcc", __NR_futex, true).empty());
  CHECK(judged("Ccpcc", __NR_restart_syscall, true).empty());
  CHECK(judged("Cc", __NR_nanosleep).empty());  // all of its stack is the C library's
}

TEST_CASE("a signal handler is as safe as what it has interrupted") {
  CHECK(judged("PpcPpcc", none).empty());
  CHECK(judged("CpcPpcc", __NR_read).empty());
  CHECK(judged("CppcCppccp", __NR_epoll_wait, true).empty());  // it interrupted select()
  CHECK(judged("CppcCppccp", __NR_epoll_wait, false) ==
        "it is in a signal handler, which has interrupted the C library");  // or fread()
  CHECK(judged("PpcPcppccp", none) == "the C library has called it");       // qsort()
  CHECK(judged("PcppcPpcc", none) == "the C library has called it");
  CHECK(judged("PpcAppccp", none, true) == "it is in the allocator");
  CHECK(judged("PpcLppccp", none, true) == "it is in the dynamic linker");
  CHECK(judged("PpcPpcCpccp", none, true).empty());  // two handlers
  CHECK(judged("PpcPpcCpccp", none) ==
        "it is in a signal handler, which has interrupted the C library");
}

TEST_CASE("a thread is unsafe where it may hold what a call needs") {
  CHECK(judged("Cppccp", none) == "it runs in the C library");  // malloc(), perhaps
  CHECK(judged("Cc", none) == "it runs in the C library");      // a thread's last steps
  CHECK(judged("Ccpcc", __NR_futex, false) ==
        "it is in the C library, in system call " + std::to_string(__NR_futex));
  CHECK(judged("Cppccp", __NR_mmap) ==
        "it is in the C library, in system call " + std::to_string(__NR_mmap));
  CHECK(judged("Cpcc", __NR_clone) ==
        "it is in the C library, in system call " + std::to_string(__NR_clone));  // fork()
  CHECK(judged("Kcpcc", none) == "it runs in the C library");
  CHECK(judged("Pcppccp", none) == "the C library has called it");  // qsort()
  CHECK(judged("Lppccp", none) == "it is in the dynamic linker");
  CHECK(judged("Pllcppccp", none) == "it is in the dynamic linker");  // a constructor
  CHECK(judged("Appccp", none) == "it is in the allocator");
  CHECK(judged("Cappccp", __NR_futex, true) == "it is in the allocator");
  CHECK(judged("Pgppccp", none) == "it is in the agent");
}
