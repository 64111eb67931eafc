// SPDX-License-Identifier: BSD-2-Clause
// How much of what is drawn is taken by whose code.
#pragma once

#include <array>

#include "core/owner.h"
#include "render/picture/frame_tree.h"

namespace memflame {

struct OwnerShares {
  std::array<int64_t, owner_count> sum{};  // add up to the total of what is drawn
  // Whose the innermost frame of each stack is; where all stacks end in functions of an allocator,
  // whose the innermost one outside of it is.
  bool outside_allocator = false;
  // Some frame has a file: without, the application's functions and those of libraries look alike.
  bool modules_known = false;
};

// Throws Error when a sum leaves 64 bits.
OwnerShares owner_shares(const Profile& profile, const Width& width);

}  // namespace memflame
