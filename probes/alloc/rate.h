// SPDX-License-Identifier: BSD-2-Clause
// The sampling rate, as the programs take it (sampling.h).
#pragma once

#include <cstdint>
#include <string>

#include "probes/alloc/bpf/config.h"
#include "probes/alloc/options.h"

namespace memflame {

inline constexpr uint64_t largest_sample_bytes = 1ULL << 30;

// Keeps one block per `bytes` allocated on average; all of them for 0.
void set_sampling(bpf::rate& rate, uint64_t bytes);
// Keeps one block in `every`.
void set_every(bpf::rate& rate, uint32_t every);

// Do the options ask for estimates?
bool is_sampled(const AllocOptions& options);
// "1 sample per 512 KiB"; empty when all is counted, or the rate changes.
std::string sampling_in_words(const AllocOptions& options);

// The programs' table of probabilities.
void fill_probabilities(bpf::alloc_config& config);

}  // namespace memflame
