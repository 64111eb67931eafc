// SPDX-License-Identifier: BSD-2-Clause
// Attaches the allocator probe's programs to files.
#pragma once

#include <string>

#include "core/recording.h"

namespace memflame {

class AllocRun;
class Session;

// Every file of the targets that has an allocator, or functions that the user has declared. Throws
// Error when there is none.
void attach_allocators(AllocRun& run, Session& session);

// A file that has come into a watched space.
void attach_allocators_of(AllocRun& run, Session& session, const Module& module, bool late);

}  // namespace memflame
