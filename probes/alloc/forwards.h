// SPDX-License-Identifier: BSD-2-Clause
// What a function hands on to others.
#pragma once

#include <functional>

#include "probes/alloc/file_code.h"

namespace memflame {

using Accepts = std::function<bool(const Destination&)>;

// Whether every way from the first instruction of the body to a return, or out of it, leads through
// a call of what `accepts`, or ends in a jump there. False when that cannot be told.
bool always_passes(FileCode& file, const Body& body, const Accepts& accepts);

// Whether there is a call or a jump there at all.
bool may_pass(FileCode& file, const Body& body, const Accepts& accepts);

}  // namespace memflame
