// SPDX-License-Identifier: BSD-2-Clause
// Processes that have ended, and of which nothing will be asked again.
#pragma once

#include <functional>
#include <vector>

#include "core/ids.h"

namespace memflame {

using IsGone = std::function<bool(SpaceId)>;

struct Gone {
  IsGone is_gone;
  std::vector<SpaceId> newly;  // those that were not among them before
};

}  // namespace memflame
