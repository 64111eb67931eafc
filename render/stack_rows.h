// The stacks of a profile as text and numbers, for the outputs that list them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/profile.h"

namespace memflame {

struct StackRow {
  std::string path;             // names, root first
  std::vector<int64_t> values;  // one per column
};

// In bytewise order of their paths; stacks that read the same are added up. `names` is by
// FrameId::index. Throws Error when a sum leaves 64 bits.
std::vector<StackRow> stack_rows(const Profile& profile, const std::vector<std::string>& names,
                                 char separator);

}  // namespace memflame
