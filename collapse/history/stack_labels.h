// SPDX-License-Identifier: BSD-2-Clause
// Short names for stacks that are listed beside each other.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/profile.h"

namespace memflame {

// The innermost function of the program's own code outside of the allocator, and not one that a
// template of the C++ library has put there; without one, the
// innermost outside of the allocator; else the innermost. Stacks that would have the same label get
// the frame that tells them apart as well: "grow ← load", "grow → std::vector::reserve".
std::vector<std::string> stack_labels(const Profile& profile, std::span<const StackId> stacks);

// The same for one stack, which may have the label of another one.
std::string stack_label(const Profile& profile, StackId stack);

}  // namespace memflame
