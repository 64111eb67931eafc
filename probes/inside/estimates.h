// SPDX-License-Identifier: BSD-2-Clause
// What a sampled block stands for: the estimator of Horvitz and Thompson, as in
// probes/alloc/bpf/sampling.h, with the probability that the agent's countdown gives
// (agent/sampling.h).
#pragma once

#include <cstdint>

namespace memflame::inside {

struct Estimate {
  uint64_t bytes = 0;
  uint32_t blocks = 0;
  // What it adds to the variances of the sums, of the bytes in units of variance_unit.
  int64_t bytes_variance = 0, blocks_variance = 0;
};

// For a block of `size` bytes that was sampled at one per `mean` bytes. Whole numbers are rounded
// at random, by the seed: with one seed the estimate is always the same, so a free subtracts what
// the allocation added.
Estimate estimate_of(uint64_t size, uint64_t mean, uint64_t seed);

}  // namespace memflame::inside
