// SPDX-License-Identifier: BSD-2-Clause
// Whose code has what is drawn: the application, each library, the kernel.
//
// A block belongs to the code that asked the allocator for it, not to the allocator: to the
// innermost frame outside of it; or of containers too, if these are passed over.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/owner.h"
#include "render/picture/frame_tree.h"

namespace memflame {

struct CodeShare {
  Owner owner = Owner::unknown;
  std::string path{};  // of a library, or the name of a package of Go; "" for other owners
  bool is_package = false;
  int64_t sum = 0;
};

struct CodeShares {
  std::vector<CodeShare> shares{};  // the largest first; they add up to the total of what is drawn
  // Frames of the allocator were passed over somewhere.
  bool outside_allocator = false;
  bool outside_containers = false;  // or of containers
  // The code that touched memory first has it, where that is known.
  bool touched_first = false;
  // Whether any frame has a module. Without modules, application and libraries cannot be told
  // apart.
  bool modules_known = false;
};

// What is passed over on the way to whoever has a stack.
struct Shares {
  Blame blame = Blame::caller;
  bool reversed = false;  // stacks begin with their innermost function
};

// Throws Error if a sum does not fit in 64 bits.
CodeShares code_shares(const Profile& profile, const Width& width, Shares of = {});

}  // namespace memflame
