// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/run_signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "core/stop_request.h"

namespace memflame {
namespace {

constexpr std::array stops{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
constexpr std::array requests{SIGUSR1, SIGUSR2};

}  // namespace

RunSignals::RunSignals() {
  sigset_t set = stop_signals();
  for (const int signal : requests) ::sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, &before_);
  fd_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  std::signal(SIGPIPE, SIG_IGN);
}

RunSignals::~RunSignals() {
  while (arrived() != 0) {
  }
  for (const int signal : requests) ::sigaddset(&before_, signal);
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

int RunSignals::arrived() const {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof(info)) != sizeof(info)) return 0;
  const int signal = static_cast<int>(info.ssi_signo);
  if (is_stop(signal)) note_stop();
  return signal;
}

sigset_t stop_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : stops) ::sigaddset(&set, signal);
  return set;
}

bool is_stop(int signal) { return std::find(stops.begin(), stops.end(), signal) != stops.end(); }

void say_unused(int signal) {
  std::fprintf(stderr,
               "memflame: SIG%s is ignored; SIGUSR1 writes what there is so far, SIGINT ends the "
               "measurement\n",
               ::sigabbrev_np(signal));
}

}  // namespace memflame
