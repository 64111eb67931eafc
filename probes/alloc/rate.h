// SPDX-License-Identifier: BSD-2-Clause
// The sampling rate, as the programs take it (sampling.h).
#pragma once

#include <cstdint>
#include <string>

#include "probes/bpf/shared.h"
#include "probes/options.h"

namespace memflame {

inline constexpr uint64_t largest_sample_bytes = 1ULL << 30;
// Rarer ones would stand for more than sums of their squares can hold.
inline constexpr uint32_t most_every = 1U << 24;
// One of a column of variances, in squares of bytes.
inline constexpr double variance_unit = 1 << 2 * bpf::variance_shift;

// Keeps one block per `bytes` allocated on average; all of them for 0.
void set_sampling(bpf::globals& globals, uint64_t bytes);
// Keeps one block in `every`.
void set_every(bpf::globals& globals, uint32_t every);

// Are figures estimates?
bool is_sampled(const ProbeOptions& options);
// "1 sample per 512 KiB"; empty when all is counted.
std::string sampling_in_words(const ProbeOptions& options);

// The programs' table of probabilities: config.keep.
void fill_probabilities(bpf::config& config);

}  // namespace memflame
