// SPDX-License-Identifier: BSD-2-Clause
// Processes that were asked for by name, owner, size or control group: an agent comes into those
// that run when counting begins, one after the other, and into those that come later. The latter
// are looked for every two seconds, so one that lives for less than that may go unseen. This keeps
// those into which the agent could not come, and those into which it came late.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace memflame::inside {

class Selection {
 public:
  struct Look {
    std::function<std::vector<pid_t>()> present;  // those that were asked for, now
    std::function<bool(pid_t)> is_watched;
    // Brings an agent into one, and returns whether it could. If not, refuse() was called, or the
    // process is gone. May be empty: nothing is brought in any more.
    std::function<bool(pid_t)> enter;
  };

  // The agent could not come in, for this reason.
  void refuse(pid_t pid, const std::string& why) { refused_[pid] = why; }
  const std::map<pid_t, std::string>& refused() const { return refused_; }

  bool is_time() const;
  void look(const Look& parts);

  size_t count() const { return refused_.size() + later_.size(); }  // what is not watched
  size_t came_late() const { return late_; }
  // What is not watched, and why; and what is watched only from some time on. Empty if nothing is
  // missing.
  std::vector<std::string> notes() const;

 private:
  void take(pid_t pid, const Look& parts);

  std::map<pid_t, std::string> refused_;  // with the reasons
  std::map<pid_t, std::string> later_;    // with their names: not tried yet
  std::string late_names_;                // of the first ones
  size_t late_ = 0;
  uint64_t next_ns_ = 0;
};

}  // namespace memflame::inside
