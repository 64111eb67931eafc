// SPDX-License-Identifier: BSD-2-Clause
// One memflame at a time comes into a process or leaves it: two would overwrite each other's
// requests to the agent. There can be two, as the process that attaches goes on until its work is
// done when its memflame is killed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "core/unique_fd.h"

namespace memflame::inside {

// A lock on the process's folder in /proc: the kernel lets go of it when its owner ends, however
// that comes. It does not exclude a memflame that sees another /proc, in a container.
class AttachLock {
 public:
  // Nothing if another one has it for longer than that. Throws Error if there is no such process.
  static std::optional<AttachLock> take(pid_t pid, uint64_t patience_ns);

 private:
  explicit AttachLock(UniqueFd folder) : folder_(std::move(folder)) {}
  UniqueFd folder_;
};

}  // namespace memflame::inside
