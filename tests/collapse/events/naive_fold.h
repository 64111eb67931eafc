// SPDX-License-Identifier: BSD-2-Clause
// What blocks a list of events, gaps and checkpoints tells of, found by looking through the list
// again and again: to compare BlockFold with. The list must not contradict itself.
#pragma once

#include <utility>
#include <vector>

#include "tests/collapse/events/made_events.h"

namespace memflame {

// By block number.
std::vector<std::pair<Block, Chain>> naive_blocks(const std::vector<Item>& items,
                                                  const History& history, uint64_t end_ns);

}  // namespace memflame
