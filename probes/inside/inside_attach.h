// SPDX-License-Identifier: BSD-2-Clause
// A run inside a process that exists: the agent comes into it, and at the end, however the run
// ends, its hooks are taken out again, there and in the children that have them from it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"
#include "probes/inside/attach/attacher.h"
#include "probes/inside/inside_session.h"

namespace memflame::inside {

class Attachment {
 public:
  // Comes into all of these processes. Throws Error that says why it is not possible; then it is in
  // none of them. `wants`: whether it may leave out those for which it is not; one is the least.
  enum class Wants : uint8_t { all, some };
  Attachment(InsideSession& session, Exchange& exchange, const std::vector<pid_t>& pids,
             Wants wants);
  ~Attachment();
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  const std::vector<pid_t>& pids() const { return pids_; }  // that it has come into
  // Comes into a further process. False if it could not; the session has been told why.
  bool enter_later(pid_t pid);
  // Call it when counting has ended.
  void leave();
  std::vector<std::string> notes() const;

 private:
  void check(const AttachTarget& target) const;
  void enter(pid_t pid);
  std::optional<Error> try_to_enter(pid_t pid);
  void enter_all(const std::vector<pid_t>& pids);
  void enter_some(const std::vector<pid_t>& pids);

  InsideSession& session_;
  Exchange& exchange_;
  std::vector<pid_t> pids_;
  std::set<std::string> networks_;  // in which memflame listens
  pid_t entering_ = 0;
  AttachFigures entered_, left_;
  size_t processes_left_ = 0;
  std::vector<std::string> problems_;
  bool has_left_ = false;
};

}  // namespace memflame::inside
