// SPDX-License-Identifier: BSD-2-Clause
// run_go_heap() is run_probes() for a Go program whose own heap profile is read. It needs the right
// to trace the process.
#pragma once

#include <string>

#include "probes/run/run.h"

namespace memflame {

// The option that a run over Go's profile cannot fulfil; "" if there is none.
std::string refused_by_go_heap(const ProbeOptions& options);

// Whether the process is a Go program that keeps a heap profile which can be read now.
bool keeps_go_heap(pid_t pid);

// The target is one process, by its id. Throws Error.
Run run_go_heap(const ProbeRun& probe, Observer& observer);

// All Go programs among the target's processes, see go_heaps.h; others are left out. Throws Error,
// also if none of them was a Go program.
Run run_go_heaps(const ProbeRun& probe, Observer& observer);

}  // namespace memflame
