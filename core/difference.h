// SPDX-License-Identifier: BSD-2-Clause
// Profiles that hold two states of one thing.
#pragma once

#include <cstddef>
#include <optional>

#include "core/profile.h"

namespace memflame {

struct Difference {
  size_t before = 0, after = 0;  // columns
};

// The columns "before" and "after" when a profile has both, in one unit: that of `memflame diff`,
// and a text of two numbers a line.
std::optional<Difference> difference_of(const Profile& profile);

}  // namespace memflame
