// SPDX-License-Identifier: BSD-2-Clause
// Processes that were asked for by name, owner, size or control group: an agent comes into those
// that run when counting begins, one after the other, and into those that come later. The latter
// are looked for every two seconds, so one that lives for less than that may go unseen. This keeps
// those into which the agent could not come, and those into which it came late.
//
// What stands against an agent may pass: a debugger leaves, or the process executes another
// program. So a process is tried again, after waits that double, up to ten times in a bit more than
// an hour: each try stops its threads for a moment, and costs memflame some memory.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "probes/processes/spaces.h"
#include "probes/system/procfs.h"

namespace memflame::inside {

class Selection {
 public:
  static constexpr uint64_t first_wait_ns = 4'000'000'000;
  static constexpr unsigned most_tries = 10;
  static constexpr size_t most_kept = 4096;  // of those that are gone; the rest is only counted

  // `now`: CLOCK_MONOTONIC. `start`: of a process, 0 if it is gone.
  explicit Selection(std::function<uint64_t()> now = monotonic_ns,
                     std::function<uint64_t(pid_t)> start = start_ticks_of)
      : now_(std::move(now)), start_(std::move(start)) {}

  struct Look {
    std::function<std::vector<pid_t>()> present;  // those that were asked for, now
    std::function<bool(pid_t)> is_watched;
    // Brings an agent into one, and returns whether it could. If not, refuse() was called, or the
    // process is gone. May be empty: nothing is brought in any more.
    std::function<bool(pid_t)> enter;
  };

  // The agent could not come in, for this reason.
  void refuse(pid_t pid, const std::string& why);

  bool is_time() const { return now_() >= next_ns_; }
  void look(const Look& parts);

  // What is not watched.
  size_t count() const { return refused_.size() + forgotten_ + later_.size(); }
  size_t came_late() const { return late_.count + again_.count; }
  // What is not watched, and why; and what is watched only from some time on. Empty if nothing is
  // missing.
  std::vector<std::string> notes() const;

 private:
  // A process id is used again, after a while.
  using Key = std::pair<pid_t, uint64_t>;  // with its start
  struct Refused {
    std::string why;
    unsigned tries = 0;
    uint64_t next_ns = 0;  // when it is tried again
  };
  struct Named {
    size_t count = 0;
    std::string names;  // of the first ones
    void add(const std::string& name, pid_t pid);
    std::string in_words() const;
  };

  void take(const Key& process, const Look& parts);
  void settle(const Look& parts);
  void forget_gone(const std::vector<pid_t>& present);

  std::function<uint64_t()> now_;
  std::function<uint64_t(pid_t)> start_;
  std::map<Key, Refused> refused_;
  std::map<Key, std::string> later_;  // with their names: not tried yet
  Named late_;                        // came in some seconds after their start
  Named again_;                       // came in after it had been refused
  size_t forgotten_ = 0;              // refused, and gone
  uint64_t next_ns_ = 0;
};

}  // namespace memflame::inside
