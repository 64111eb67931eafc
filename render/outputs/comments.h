// SPDX-License-Identifier: BSD-2-Clause
// A profile's facts apart from its stacks, as the comment lines of core/folded.h: folded text
// begins with them, and other formats carry them if they have comments.
#pragma once

#include <ostream>

#include "core/profile.h"
#include "render/picture/options.h"

namespace memflame {

// Title, origin, sampling, reconciliation, notes and losses, each "# memflame …\n". `replaced`:
// bytes of names that could not be written.
void write_comments(std::ostream& out, const Profile& profile, const RenderOptions& options,
                    uint64_t replaced);

}  // namespace memflame
