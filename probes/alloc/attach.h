// SPDX-License-Identifier: BSD-2-Clause
// Attaches the allocator probe's programs to files.
#pragma once

#include <string>

#include "core/recording.h"

namespace memflame {

class Session;

// Attaches to every file of the targets with an allocator, or with functions that the user
// declared. Throws Error if there is none.
void attach_allocators(Session& session);

// The same for a file that has come into a watched space.
void attach_allocators_of(Session& session, const Module& module, bool late);

}  // namespace memflame
