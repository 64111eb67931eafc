// SPDX-License-Identifier: BSD-2-Clause
// What sums of selected blocks have in common: the errors of samples, and what is said of the
// blocks that were left out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collapse/select/block_source.h"
#include "collapse/select/query.h"
#include "core/profile.h"

namespace memflame {

// A unit of the variances of bytes: bytes squared.
inline constexpr double bytes_variance_unit = 1 << 20;

// Figures of blocks. Variances are of estimates, in bytes squared and blocks squared.
struct BlockSums {
  int64_t bytes = 0, blocks = 0;
  double bytes_variance = 0, blocks_variance = 0;

  // Adds a block `times` times, which may be negative. Throws Error if a sum does not fit in 64
  // bits.
  void add(const Block& block, int times, bool is_sampled);
  void add(const BlockSums& other);

  // The variances as a column has them.
  int64_t bytes_variance_figure() const;
  int64_t blocks_variance_figure() const;
};

// Appends for each column one of its variances.
void add_variances(std::vector<ValueType>& types);

// How much of what is looked at is selected.
struct BlockTally {
  uint64_t blocks = 0, all_blocks = 0, uncertain = 0;

  void add(const Block& block, bool is_selected) {
    all_blocks += block.count;
    if (!is_selected) return;
    blocks += block.count;
    uncertain += block.uncertain ? block.count : 0;
  }
};

// "--where size > 4K --let a=leaked"; empty if the query selects everything. On one line.
std::string words_of(const Query& query);
// What a reader has to know of figures of these blocks.
std::vector<std::string> notes_of(const Query& query, const BlockTally& tally);

}  // namespace memflame
