// SPDX-License-Identifier: BSD-2-Clause
// The figures of the collector inside as columns of a recording: those of the kernel's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "probes/bpf/shared.h"
#include "probes/inside/live_blocks.h"

namespace memflame::inside {

// In the order of the columns; variances are there only if blocks are sampled.
inline void fill(int64_t* columns, const BlockSums& sum) {
  const int64_t values[bpf::columns] = {
      sum.live,          sum.live_count,          sum.total,          sum.total_count,
      sum.live_variance, sum.live_count_variance, sum.total_variance, sum.total_count_variance};
  std::copy(std::begin(values), std::end(values), columns);
}

inline BlockSums in_columns(const Unfollowed& blocks) {
  return {.live = blocks.bytes,
          .live_count = blocks.count,
          .live_variance = blocks.bytes_variance,
          .live_count_variance = blocks.count_variance};
}

}  // namespace memflame::inside
