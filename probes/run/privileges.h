// SPDX-License-Identifier: BSD-2-Clause
// The rights that memflame keeps, once the steps that need more are done. SECURITY.md has the
// table.
#pragma once

#include <cstdint>

namespace memflame {

enum class Step : uint8_t {
  // Everything is attached. Files and processes that come later get probes and unwind tables, and
  // /proc of other users' processes is read.
  counting,
  // The same if those probes are perf events, for which the kernel requires CAP_SYS_ADMIN.
  counting_by_perf_events,
  // All probes are detached. Files are opened for names, and outputs are written as the caller's.
  writing,
};

// Gives up, for good, what this step and later ones do not need: capabilities of the calling thread
// and of threads it starts, the bounding set, and set-user-id programs. Programs started before
// keep what they have.
void keep_privileges_for(Step step);

}  // namespace memflame
