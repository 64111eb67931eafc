// SPDX-License-Identifier: BSD-2-Clause
// A forked copy of memflame that does one thing and says what came of it. No signal ends it, and
// none that ends memflame does: while a thread of another process is held in the middle of a call,
// nobody else could put it right.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>

#include "core/unique_fd.h"

namespace memflame::inside {

inline constexpr char attacher_name[] = "memflame-attach";  // in /proc/PID/comm

class OwnProcess {
 public:
  // Hands over a descriptor.
  using Give = std::function<void(int)>;
  // Throws Error if it cannot be forked.
  explicit OwnProcess(const std::function<std::string(const Give&)>& work);
  ~OwnProcess();
  OwnProcess(const OwnProcess&) = delete;
  OwnProcess& operator=(const OwnProcess&) = delete;

  // Takes what it has said and given so far, without waiting.
  bool has_ended();
  UniqueFd given() { return std::move(given_); }  // the last one; once
  // What `work` returned; less if it was killed.
  const std::string& said() const { return said_; }

 private:
  pid_t pid_ = -1;
  UniqueFd from_, given_;
  std::string said_;
  bool has_ended_ = false;
};

}  // namespace memflame::inside
