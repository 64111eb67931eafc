// SPDX-License-Identifier: BSD-2-Clause
// The programs that processes of the run have executed and in which no agent has spoken: as agents
// tell (protocol.h, Execution), so however soon they end. A program in which none can speak is
// missing here if one that is not watched has executed it: a static program, say.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "probes/inside/exchange.h"

namespace memflame::inside {

class Executions {
 public:
  // What agents have told since the last call.
  void take(Exchange& exchange);
  // In a process that has executed a program, an agent speaks, or its silence is known from
  // elsewhere. Does nothing if that program was not told.
  void settle(pid_t pid);

  // How many are not settled. In one that is just starting an agent may yet speak.
  size_t open() const { return open_ - std::min(open_, gone_); }
  // "col: it is linked statically", by how often; of the first few that are not settled.
  std::vector<std::string> names() const;

 private:
  struct Program {
    std::string path;
    size_t open = 0;
  };
  void begin(const std::string& path);
  void undo(const std::string& path);
  bool settle_one(const std::string& name);

  std::map<std::string, Program> programs_;  // by what the kernel calls their processes
  size_t open_ = 0;
  size_t unnamed_ = 0;     // of them
  size_t gone_ = 0;        // that are to be settled, but ended before they could be named
  uint32_t taken_ = 0;     // of Control::executions
  uint64_t waits_ns_ = 0;  // since when the next one is not told in full; 0 = it is
};

}  // namespace memflame::inside
