// SPDX-License-Identifier: BSD-2-Clause
// Blocks that a recording leaves out because they lived too short: what is known of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collapse/chunks/bytes.h"
#include "core/ids.h"

namespace memflame {

// Sampled blocks count as those that they stand for.
struct CulledStack {
  RawStackId stack{};
  uint64_t blocks = 0, bytes = 0;
  friend bool operator==(const CulledStack&, const CulledStack&) = default;
};

struct CulledBlocks {
  uint64_t below_ns = 0;  // their chains lived shorter than that; 0 = all blocks are recorded
  std::vector<CulledStack> stacks{};
  friend bool operator==(const CulledBlocks&, const CulledBlocks&) = default;
};

// How many there are, and which answers about the blocks that are left lack them.
std::string in_words(const CulledBlocks& culled);

// A chunk of them, which adds to those before it. Stacks must be in the order of their ids.
std::string encode(const CulledBlocks& culled);
// `stacks`: ids are below that. Adds to `into`, which has a place for each id; sums that do not fit
// stay at the largest number. Throws DamagedChunk; `into` is as before then.
void decode_culled(ByteReader& in, size_t stacks, CulledBlocks& into);

}  // namespace memflame
