// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "collapse/inputs/readers.h"

namespace memflame {

// Reads DTrace's output as FlameGraph's stackcollapse.pl does, and Rust names as inferno does. The
// first three lines are a header, arguments of C++ names are cut, and each line that is not a
// number is a frame.
Profile read_dtrace_compat(Source& source, const ReadOptions& options);

}  // namespace memflame
