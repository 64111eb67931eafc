// SPDX-License-Identifier: BSD-2-Clause
// Attaches the allocator probe's programs to files.
#pragma once

#include <string>

#include "core/recording.h"

namespace memflame {

class AllocRun;
class Spaces;
struct LoadedProbe;

// Every file of the targets that has an allocator, or functions that the user has declared. Throws
// Error when there is none.
void attach_allocators(AllocRun& run, LoadedProbe& probe, Spaces& spaces);

// A file that has come into a watched space. True if it has an allocator, and had no probes before.
bool attach_allocators_of(AllocRun& run, LoadedProbe& probe, const Module& module);

}  // namespace memflame
