// SPDX-License-Identifier: BSD-2-Clause
// Profiles that hold two states of the same thing.
#pragma once

#include <cstddef>
#include <optional>

#include "core/profile.h"

namespace memflame {

struct Difference {
  size_t before = 0, after = 0;  // columns
};

// The columns "before" and "after", if the profile has both in one unit: as `memflame diff` writes
// them, or a text with two numbers per line.
std::optional<Difference> difference_of(const Profile& profile);

}  // namespace memflame
