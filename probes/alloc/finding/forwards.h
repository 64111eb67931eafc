// SPDX-License-Identifier: BSD-2-Clause
// Whether functions pass their work on to others.
#pragma once

#include <functional>

#include "probes/alloc/finding/file_code.h"

namespace memflame {

using Accepts = std::function<bool(const Destination&)>;

// Whether every path from the first instruction of the body to a return, or out of it, goes through
// a call that `accepts` accepts, or ends in a jump to such a function. False if that cannot be
// told.
bool always_passes(FileCode& file, const Body& body, const Accepts& accepts);

// Whether there is such a call or jump at all.
bool may_pass(FileCode& file, const Body& body, const Accepts& accepts);

}  // namespace memflame
