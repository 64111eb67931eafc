// SPDX-License-Identifier: BSD-2-Clause
// Lets memflame rest until a thread of a watched process needs it: because its ring is full,
// because it met code that has no table yet, or because it is a forked child's first. Such a thread
// rings (Control::bell).
//
// The bell is a futex, for agents keep no descriptor. A futex cannot be polled beside descriptors,
// so a thread waits for it. It costs nothing until somebody rings.
#pragma once

#include <atomic>
#include <thread>

#include "core/unique_fd.h"
#include "probes/inside/exchange/protocol.h"

namespace memflame::inside {

class Bell {
 public:
  // Throws Error.
  explicit Bell(Control& control);
  ~Bell();
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  // Agents ring from now on if they need memflame: all, or only those that arrive.
  void begin_rest(Rest rest);
  void end_rest();
  int rung() const { return rung_.get(); }  // readable once somebody has rung, until answer()
  void answer();

 private:
  void listen(uint32_t heard);

  Control& control_;
  UniqueFd rung_;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

}  // namespace memflame::inside
