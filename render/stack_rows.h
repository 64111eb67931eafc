// The stacks of a profile as text and numbers, for the outputs that list them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/profile.h"
#include "render/clean_text.h"

namespace memflame {

struct StackRow {
  std::string path;             // names, root first
  std::vector<int64_t> values;  // one per column
};

// In bytewise order of their paths; stacks that read the same are added up. `names` is by
// FrameId::index. Throws Error when a sum leaves 64 bits.
std::vector<StackRow> stack_rows(const Profile& profile, const std::vector<std::string>& names,
                                 char separator);

// Names as they may stand between two semicolons, with the marks of their kinds; by FrameId::index.
std::vector<std::string> folded_names(const Profile& profile, const CleanStrings& clean);

}  // namespace memflame
