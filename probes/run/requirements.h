// SPDX-License-Identifier: BSD-2-Clause
// Refusals with a remedy, before anything is started.
#pragma once

#include <sys/types.h>

namespace memflame {

// Privilege, kernel version and BTF. Throws Error(requirement).
void require_kernel_and_privilege();

// A live x86-64 process other than memflame whose memory can be inspected. Throws Error.
void require_traceable(pid_t pid);

}  // namespace memflame
