// SPDX-License-Identifier: BSD-2-Clause
// Names of frames as folded text has them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/profile.h"

namespace memflame {

// Clean, and fit to stand between two semicolons; with the marks of their kinds if requested. Names
// that need no change are not copied, so the profile must outlive this.
class FoldedNames {
 public:
  FoldedNames(const Profile& profile, bool marks);

  std::span<const std::string_view> views() const { return names_; }  // by FrameId::index

 private:
  std::vector<std::string_view> names_;
  StringTable kept_;  // names that differ from the profile's
};

}  // namespace memflame
