// SPDX-License-Identifier: BSD-2-Clause
// Whether functions pass their work on to others.
#pragma once

#include <functional>

#include "probes/alloc/finding/file_code.h"

namespace memflame {

using Accepts = std::function<bool(const Destination&)>;

// Whether every path from the first instruction to a return, or out of the body, passes a call that
// `accepts` accepts or ends in such a jump. False if the code does not tell. The cost is one visit
// per instruction.
bool always_passes(FileCode& file, const Body& body, const Accepts& accepts);

// Whether the body has such a call or jump at all.
bool may_pass(FileCode& file, const Body& body, const Accepts& accepts);

}  // namespace memflame
