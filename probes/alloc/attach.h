// SPDX-License-Identifier: BSD-2-Clause
// Putting the allocator probe's programs on files.
#pragma once

#include <string>

#include "core/recording.h"

namespace memflame {

class Session;

// Every file of the targets that has an allocator, or functions that the user has declared. Throws
// Error when there is none.
void attach_allocators(Session& session);

// A file that has come into a watched space.
void attach_allocators_of(Session& session, const Module& module, bool late);

}  // namespace memflame
