// SPDX-License-Identifier: BSD-2-Clause
// Attaches the allocator probe's programs to files.
#pragma once

#include <string>

#include "core/recording.h"

namespace memflame {

class AllocRun;
class Spaces;
struct LoadedProbe;

// Attaches to every file of the targets that has an allocator or functions that the user declared.
// Throws Error if a process has neither, or a declared function is missing.
void attach_allocators(AllocRun& run, LoadedProbe& probe, Spaces& spaces);

// Attaches to a file that a watched space has mapped during the run. True if the file has an
// allocator and was not searched before.
bool attach_allocators_of(AllocRun& run, LoadedProbe& probe, const Module& module);

}  // namespace memflame
