// SPDX-License-Identifier: BSD-2-Clause
// One run, two collectors: what both saw, each of other processes.
#pragma once

#include "core/recording.h"

namespace memflame {

// Adds what the other collector saw. Columns are told by their names; `into` has all that count.
// Neither recording may have names (symbolize()) yet.
void join_recording(Recording& into, Recording from);

}  // namespace memflame
