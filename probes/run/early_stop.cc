// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/early_stop.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace memflame {
namespace {

[[noreturn]] void die_of(int signal) {
  std::fprintf(stderr, "memflame: ended by SIG%s before it counted: nothing was written\n",
               ::sigabbrev_np(signal));
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, signal);
  std::signal(signal, SIG_DFL);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ::raise(signal);
  ::_exit(128 + signal);
}

void wait_for(int stops, int done) {
  std::array<pollfd, 2> files{pollfd{.fd = stops, .events = POLLIN, .revents = 0},
                              pollfd{.fd = done, .events = POLLIN, .revents = 0}};
  while (files[1].revents == 0) {
    if (::poll(files.data(), files.size(), -1) < 0) continue;
    signalfd_siginfo info{};
    if (files[1].revents == 0 && ::read(stops, &info, sizeof(info)) == sizeof(info))
      die_of(static_cast<int>(info.ssi_signo));
  }
}

}  // namespace

EarlyStop::EarlyStop(const RunSignals& /*signals*/, const ProbeOptions& options) {
  if (options.forgets_ended) return;
  const sigset_t stops = stop_signals();
  stops_.reset(::signalfd(-1, &stops, SFD_CLOEXEC | SFD_NONBLOCK));
  done_.reset(::eventfd(0, EFD_CLOEXEC));
  if (stops_ && done_) waits_ = std::thread(wait_for, stops_.get(), done_.get());
}

void EarlyStop::counts() {
  if (!waits_.joinable()) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t told = ::write(done_.get(), &one, sizeof(one));
  waits_.join();
}

}  // namespace memflame
