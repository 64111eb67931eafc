// SPDX-License-Identifier: BSD-2-Clause
// Where a COMMAND writes, and what it reads, while memflame draws on the terminal.
#pragma once

#include <string>

#include "core/unique_fd.h"
#include "probes/processes/command.h"

namespace memflame {

class CommandOutput {
 public:
  // Standard output and standard error go to this file; "": to one in the folder for temporary
  // files, which is removed if the command writes nothing. Standard input is empty if it is a
  // terminal, because its keys are memflame's; else the command has it. Throws Error.
  explicit CommandOutput(const std::string& path);
  ~CommandOutput();  // says where the output is
  CommandOutput(const CommandOutput&) = delete;
  CommandOutput& operator=(const CommandOutput&) = delete;

  // Valid as long as this.
  CommandStreams streams() const;
  const std::string& path() const { return path_; }

 private:
  bool is_temporary_;
  std::string path_;
  UniqueFd nothing_, file_;
};

}  // namespace memflame
