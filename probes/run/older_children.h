// SPDX-License-Identifier: BSD-2-Clause
// Children that the named processes had before memflame began. They are not watched, and named.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace memflame {

class OlderChildren {
 public:
  // The living children of a process that began with memflame or later. The others are noted.
  std::vector<pid_t> newer_of(pid_t parent);
  // It is a target itself.
  void leave_out(pid_t pid) { older_.erase(pid); }

  uint64_t count() const { return older_.size(); }
  std::string note() const;  // "" if there are none

 private:
  std::map<pid_t, std::string> older_;  // their names
};

}  // namespace memflame
