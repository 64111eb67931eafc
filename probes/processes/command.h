// SPDX-License-Identifier: BSD-2-Clause
// Starts a program stopped, so that probes are in place before its first instruction.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/unique_fd.h"

namespace memflame {

// What a program gets as its standard streams; -1: memflame's own.
struct CommandStreams {
  int in = -1, out = -1, err = -1;
};

class Command {
 public:
  // Forks; the child waits. It keeps terminal, environment and working directory. With a user it
  // has that user's groups, HOME, USER and LOGNAME, and none of sudo's variables.
  // `variables` ("NAME=VALUE") come into its environment, instead of others of their names. Throws
  // Error if the user is unknown or the program cannot be found (exit code 127) or executed (126).
  Command(std::vector<std::string> argv, const std::string& user,
          const std::vector<std::string>& variables = {}, const CommandStreams& streams = {});
  // A child that was not released ends without running anything; a released one is left alone.
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  pid_t pid() const { return pid_; }
  // The file to be executed.
  const std::string& program() const { return program_; }

  // Lets the program run. Throws Error if the kernel refuses to execute it.
  void release();

  // Whether it has ended, and by which signal; 0 = by none, or it runs. Its status is left.
  bool has_ended() const;
  int ended_by_signal() const;

  // Waits for the end; nobody may trace it by then. The status as a shell reports it: 0..255, or
  // 128 + signal.
  int wait();

 private:
  std::vector<std::string> argv_;
  std::string program_;
  pid_t pid_ = -1;
  bool has_failed_ = false;  // execve() did
  UniqueFd go_;              // one byte lets the child run; closing it ends the child
  UniqueFd failed_;          // errno of a failed execve; closed by a successful one
};

}  // namespace memflame
