// SPDX-License-Identifier: BSD-2-Clause
// Signals that concern a terminal which a program draws on. At most one object at a time.
#pragma once

#include <array>
#include <csignal>
#include <string>

namespace memflame {

class TerminalSignals {
 public:
  // `leaving`: what the terminal is sent to leave the screen, if memflame crashes. Its settings are
  // then those of now. Throws Error.
  explicit TerminalSignals(const std::string& leaving);
  ~TerminalSignals();
  TerminalSignals(const TerminalSignals&) = delete;
  TerminalSignals& operator=(const TerminalSignals&) = delete;

  struct Arrived {
    bool any = false;   // the screen may have another size, or may have been drawn on
    bool stop = false;  // Ctrl-Z
  };
  int fd() const;  // can be read when signals have arrived
  Arrived take();
  // Stops memflame, here, until it is continued. The screen must have been left.
  void stop();

 private:
  std::array<struct sigaction, 3> before_{};
};

}  // namespace memflame
