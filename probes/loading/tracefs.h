// SPDX-License-Identifier: BSD-2-Clause
// Reading tracefs where it is mounted, or through a mount of our own that nobody else sees.
#pragma once

#include "core/unique_fd.h"

namespace memflame {

// Opens a file below tracefs for reading; empty if it cannot be reached.
UniqueFd tracefs_open(const char* path);

// The id of a tracepoint ("syscalls", "sys_enter_brk") for perf_event_open, or -1.
int tracepoint_id(const char* category, const char* name);

}  // namespace memflame
