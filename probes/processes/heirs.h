// SPDX-License-Identifier: BSD-2-Clause
// Processes that descend from others, also where those between have ended: they have what memflame
// gave a command, or have become memflame's own children.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace memflame {

// Those whose program began with "NAME=VALUE" in its environment, as far as memflame may read that.
// Takes some 20 µs for each process of the machine.
std::vector<pid_t> processes_with(const std::string& variable);

// Processes and those that descend from them by parents that live, a few thousand at most.
std::vector<pid_t> with_descendants(const std::vector<pid_t>& of);
// Whether one of these is a process, or its parent, or a parent of that one.
bool descends_from(pid_t pid, const std::vector<pid_t>& ancestors);

// From now on whoever descends from this process and loses its parent becomes a child of the main
// thread, not of init (PR_SET_CHILD_SUBREAPER). Where the kernel does not do that, nothing changes.
// Those that the main thread starts later itself are taken for orphans, if they live on. Only the
// main thread may call these.
void adopt_orphans();
std::vector<pid_t> orphans();  // also those that have ended, until they are reaped
void reap_orphans();           // waits for those that have ended, as init would

}  // namespace memflame
