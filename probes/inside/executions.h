// SPDX-License-Identifier: BSD-2-Clause
// The programs that processes of the run have executed and in which no agent has spoken: as agents
// tell (protocol.h, Execution), so however soon they end. A program in which none can speak is
// missing here if one that is not watched has executed it: a static program, say.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "probes/inside/exchange/exchange.h"
#include "probes/processes/spaces.h"

namespace memflame::inside {

// What becomes of processes that wait before they execute a program (Execution::holder).
class Holding {
 public:
  Holding() = default;
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;
  virtual ~Holding() = default;
  // Whether the program would not run with an agent. `pid`: as the process says that executes it.
  virtual bool bars_agent(pid_t pid, const std::string& path) = 0;
  // Whether the process is to wait: `go_on` lets it execute the program, and returns false if it
  // has not waited so long. `pid`: as it says. `has_agent`: the program's environment brings one.
  virtual bool holds(pid_t pid, const std::string& path, bool has_agent,
                     std::function<bool()> go_on) = 0;
  // It could not execute it. False: it was not held.
  virtual bool let_go(pid_t pid) = 0;
};

class Executions {
 public:
  // What agents have told since the last call. `holding`: null = nobody is to wait for long.
  void take(Exchange& exchange, Holding* holding = nullptr);
  // A program is executed, in which no agent has spoken yet. `why`: none ever will; "" = not known.
  void begin(const std::string& path, const std::string& why = "");
  // In a process that has executed a program, an agent speaks, or its silence is known from
  // elsewhere. Does nothing if that program was not told.
  void settle(pid_t pid);

  // How many are not settled. In one that is just starting an agent may yet speak.
  size_t open() const { return open_ - std::min(open_, gone_); }
  // Agents count in memory that their processes can write. Told more than can be, it means nothing:
  // nothing that was told counts from then on.
  bool is_damaged() const { return is_damaged_ || untold_ > 1; }
  // "col: it is linked statically", by how often; of the first few that are not settled.
  std::vector<std::string> names() const;

 private:
  struct Program {
    std::string path, why;
    size_t open = 0;
  };
  void begin(Execution& told, Holding* holding);
  void undo(const std::string& path);
  bool settle_one(const std::string& name);
  bool settle_unnamed();
  void distrust();

  std::map<std::string, Program> programs_;  // by what the kernel calls their processes
  uint64_t began_ns_ = monotonic_ns();
  bool is_damaged_ = false;
  size_t open_ = 0;
  size_t unnamed_ = 0;     // of them
  size_t untold_ = 0;      // were counted, and said nothing
  size_t gone_ = 0;        // that are to be settled, but ended before they could be named
  uint32_t taken_ = 0;     // of Control::executions
  uint64_t waits_ns_ = 0;  // since when the next one is not told in full; 0 = it is
};

}  // namespace memflame::inside
