// SPDX-License-Identifier: BSD-2-Clause
// Processes that have ended, and of which nothing will be asked again.
#pragma once

#include <functional>
#include <unordered_set>
#include <vector>

#include "core/ids.h"

namespace memflame {

using IsGone = std::function<bool(SpaceId)>;

// Whether a space is one of these.
inline IsGone one_of(const std::vector<SpaceId>& spaces) {
  return [gone = std::unordered_set<SpaceId>(spaces.begin(), spaces.end())](SpaceId space) {
    return gone.contains(space);
  };
}

struct Gone {
  IsGone is_gone;
  std::vector<SpaceId> newly;  // those that were not among them before
};

}  // namespace memflame
