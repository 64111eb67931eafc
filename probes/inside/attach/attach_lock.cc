// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/attach/attach_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include "core/error.h"
#include "probes/inside/attach/tracee.h"
#include "probes/processes/spaces.h"
#include "probes/system/procfs.h"

namespace memflame::inside {

std::optional<AttachLock> AttachLock::take(pid_t pid, uint64_t patience_ns) {
  constexpr uint64_t pause_ns = 1'000'000;
  UniqueFd folder(::open(proc_path(pid, "").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) throw Error("process " + std::to_string(pid) + " ended");
  const uint64_t deadline = monotonic_ns() + patience_ns;
  while (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
    if (monotonic_ns() > deadline) return std::nullopt;
    pause_for(pause_ns);
  }
  return AttachLock(std::move(folder));
}

}  // namespace memflame::inside
