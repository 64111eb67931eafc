// SPDX-License-Identifier: BSD-2-Clause
// Which functions of a file are probed, and where.
#pragma once

#include "probes/alloc/finding/candidates.h"
#include "probes/alloc/finding/file_code.h"

namespace memflame {

AllocatorProbes place(FileCode& code, const BlockFunctions& candidates, const FindOptions& options);

}  // namespace memflame
