// SPDX-License-Identifier: BSD-2-Clause
#include "cli/screen/terminal_signals.h"

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace memflame {
namespace {

constexpr std::array own_signals{SIGWINCH, SIGTSTP, SIGCONT};
constexpr std::array crashes{SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE};

// For the handlers, which know no object.
std::array<int, 2> signal_pipe{-1, -1};
std::atomic<pid_t> owner{0};  // the process whose terminal it is: forked copies have none
termios usual_modes;
std::array<char, 256> leaving_bytes{};
std::atomic<size_t> leaving_size{0};

void on_signal(int signal) {
  const int error = errno;
  const auto byte = static_cast<char>(signal);
  [[maybe_unused]] const ssize_t written = ::write(signal_pipe[1], &byte, 1);
  errno = error;
}

// The handler is gone when it runs, so the signal has its usual effect after it.
void on_crash(int signal) {
  if (::getpid() == owner) {
    [[maybe_unused]] const ssize_t written =
        ::write(STDOUT_FILENO, leaving_bytes.data(), leaving_size);
    ::tcsetattr(STDOUT_FILENO, TCSANOW, &usual_modes);
  }
  ::raise(signal);
}

void set_handler(int signal, void (*handler)(int), unsigned flags, struct sigaction* before) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = static_cast<int>(flags);
  ::sigaction(signal, &action, before);
}

}  // namespace

TerminalSignals::TerminalSignals(const std::string& leaving) {
  if (signal_pipe[0] < 0 && ::pipe2(signal_pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0)
    throw Error(std::string("cannot make a pipe: ") + std::strerror(errno));
  ::tcgetattr(STDOUT_FILENO, &usual_modes);
  leaving_size = std::min(leaving.size(), leaving_bytes.size());
  std::memcpy(leaving_bytes.data(), leaving.data(), leaving_size);
  owner = ::getpid();
  for (size_t i = 0; i < own_signals.size(); ++i)
    set_handler(own_signals.at(i), on_signal, SA_RESTART, &before_.at(i));
  for (const int signal : crashes)
    set_handler(signal, on_crash, SA_RESETHAND | SA_NODEFER, nullptr);
}

TerminalSignals::~TerminalSignals() {
  owner = 0;
  for (const int signal : crashes) set_handler(signal, SIG_DFL, 0, nullptr);
  for (size_t i = 0; i < own_signals.size(); ++i)
    ::sigaction(own_signals.at(i), &before_.at(i), nullptr);
}

int TerminalSignals::fd() const { return signal_pipe[0]; }

TerminalSignals::Arrived TerminalSignals::take() {
  Arrived arrived;
  char signal = 0;
  while (::read(signal_pipe[0], &signal, 1) == 1) {
    arrived.any = true;
    arrived.stop = arrived.stop || signal == SIGTSTP;
  }
  return arrived;
}

// The handler is taken off, so that the signal has its usual effect.
void TerminalSignals::stop() {
  set_handler(SIGTSTP, SIG_DFL, 0, nullptr);
  ::raise(SIGTSTP);
  set_handler(SIGTSTP, on_signal, SA_RESTART, nullptr);
}

}  // namespace memflame
