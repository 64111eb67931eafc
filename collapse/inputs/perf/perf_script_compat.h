// SPDX-License-Identifier: BSD-2-Clause
// `perf script` as FlameGraph's stackcollapse-perf.pl reads it, with its losses.
#pragma once

#include "collapse/inputs/readers.h"

namespace memflame {

// The values form one column "count"; names are whole, marks included, and all frames are of kind
// user. Throws Error as other readers do.
Profile read_perf_script_compat(Source& source, const ReadOptions& options);

}  // namespace memflame
