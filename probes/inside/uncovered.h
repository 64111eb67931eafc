// SPDX-License-Identifier: BSD-2-Clause
// Processes of a run inside in which no agent speaks: static programs, those that gain rights, and
// those whose environment was cleared; also one in which an agent spoke, and that runs such a
// program now. They are looked for in /proc four times a second, so a process that lives for less
// than that may go unseen.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace memflame::inside {

class Uncovered {
 public:
  // `agent`: the path of its library.
  Uncovered(pid_t command, std::string agent) : command_(command), agent_(std::move(agent)) {}

  // Looks if it is time. `knows`: whether an agent has spoken in a process.
  void look(const std::function<bool(pid_t)>& knows);

  size_t count() const { return found_.size(); }
  // "2 processes were not seen (sh, ls): …"; "" if there were none.
  std::string note() const;

 private:
  bool has_agent(pid_t pid) const;
  bool runs_another_program(pid_t pid);

  pid_t command_;
  std::string agent_;
  uint64_t next_ns_ = 0;
  std::map<pid_t, std::string> covered_;  // what program_mark() was when the agent was seen
  std::set<pid_t> suspects_;              // without an agent at the look before
  std::map<pid_t, std::string> found_;    // with their names
};

// Why no agent can speak in this program: "it is linked statically"; "" if that is not known.
std::string reason_in(const std::string& program);

}  // namespace memflame::inside
