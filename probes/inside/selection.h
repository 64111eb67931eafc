// SPDX-License-Identifier: BSD-2-Clause
// Processes that were asked for by name or control group: an agent comes into those that run when
// counting begins, one after the other. This keeps those that are not watched: the agent could not
// come into them, or they began later. The latter are looked for every two seconds, so one that
// lives for less than that may go unseen.
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
  // The agent could not come in, for this reason.
  void refuse(pid_t pid, const std::string& why) { refused_[pid] = why; }
  const std::map<pid_t, std::string>& refused() const { return refused_; }

  // Looks if it is time. `present`: those that were asked for, now. `is_accounted_for`: whether one
  // is watched, or counted elsewhere.
  void look(const std::function<std::vector<pid_t>()>& present,
            const std::function<bool(pid_t)>& is_accounted_for);
  // Looks now.
  void look_again(const std::function<std::vector<pid_t>()>& present,
                  const std::function<bool(pid_t)>& is_accounted_for);

  size_t count() const { return refused_.size() + later_.size(); }
  // What is not watched, and why; empty if nothing is missing.
  std::vector<std::string> notes() const;

 private:
  std::map<pid_t, std::string> refused_;  // with the reasons
  std::map<pid_t, std::string> later_;    // with their names
  uint64_t next_ns_ = 0;
};

}  // namespace memflame::inside
