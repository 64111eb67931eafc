// SPDX-License-Identifier: BSD-2-Clause
// Decides which functions of a file are probed, and where.
//
// The idea: a function that only calls another candidate needs no probe of its own (forwards.h). A
// function that may throw gets probes on its exits instead of a return probe. If one of its exits
// is unknown, it is not probed, and the functions that only call it are probed instead. The sites
// meet the contract in allocators.h.
#pragma once

#include "probes/alloc/finding/candidates.h"
#include "probes/alloc/finding/file_code.h"

namespace memflame {

AllocatorProbes place(FileCode& code, const BlockFunctions& candidates, const FindOptions& options);

}  // namespace memflame
