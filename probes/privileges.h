// SPDX-License-Identifier: BSD-2-Clause
// What memflame may still do, once it is past the steps that need more. SECURITY.md has the table.
#pragma once

#include <cstdint>

namespace memflame {

enum class Step : uint8_t {
  // Everything is attached. Files and processes that come later get probes and unwind tables, and
  // /proc of other users' processes is read.
  counting,
  // The same where those probes are perf events, for which the kernel wants CAP_SYS_ADMIN.
  counting_by_perf_events,
  // All probes are detached. Files are opened for names, and outputs are written as the caller's.
  writing,
};

// Gives up for good what the step and those after it do not need: capabilities of the calling
// thread and of the threads that it starts, the bounding set, and set-user-id programs. Programs
// that were started before keep what they have.
void keep_privileges_for(Step step);

}  // namespace memflame
