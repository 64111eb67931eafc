// SPDX-License-Identifier: BSD-2-Clause
// What selections need to know of a run as a whole, before they look at single blocks: when it had
// the most live memory, and the figures of each stack.
//
// A block that is leaked stays live when its process ends, as in the figures of `memflame alloc`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collapse/select/block_source.h"

namespace memflame {

// All blocks of one stack. Sampled blocks count as those that they stand for.
struct StackGroup {
  uint64_t count = 0, leaked = 0;
  uint64_t first_ns = 0, last_ns = 0;  // allocations
  uint64_t peak_ns = 0;                // when it first had the most live bytes
  uint64_t span_ns() const { return last_ns - first_ns; }
};

struct WantedGroups {
  bool peak = false, groups = false, group_peaks = false;
  // How many changes of live memory are kept at once, at 24 bytes each.
  size_t most_changes = size_t{1} << 24U;
};

struct RunGroups {
  // The first time at which live memory was at its maximum. What happened at the same time counts
  // as one change.
  uint64_t peak_ns = 0;
  std::vector<StackGroup> groups;  // by RawStackId::index; empty unless asked for
};

// Peaks take one pass over the changes if the source has them in the order of time. Otherwise they
// take one over the blocks if all changes can be kept; if not, the run is divided into parts by
// time, with a pass for each; for the peak of the run, only for those that may contain it. Throws
// Error if even a part of a 65,536th of the run has too many changes.
RunGroups groups_of(BlockSource& source, const WantedGroups& wanted);

}  // namespace memflame
