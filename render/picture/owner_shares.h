// SPDX-License-Identifier: BSD-2-Clause
// The share of each owner of code in what is drawn.
#pragma once

#include <array>

#include "core/owner.h"
#include "render/picture/frame_tree.h"

namespace memflame {

struct OwnerShares {
  std::array<int64_t, owner_count> sum{};  // add up to the total of what is drawn
  // Shares count the innermost frame of each stack; if all stacks end in an allocator, the
  // innermost one outside of it.
  bool outside_allocator = false;
  // Whether any frame has a module. Without modules, application and libraries cannot be told
  // apart.
  bool modules_known = false;
};

// Throws Error if a sum does not fit in 64 bits.
OwnerShares owner_shares(const Profile& profile, const Width& width);

}  // namespace memflame
