// SPDX-License-Identifier: BSD-2-Clause
// What a profile has besides its stacks, for a profile that gets others.
#pragma once

#include "core/profile.h"

namespace memflame {

// Everything but stacks, values and marks. Findings still point to the stacks of `from`.
Profile without_stacks(const Profile& from);

}  // namespace memflame
