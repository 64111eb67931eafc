// SPDX-License-Identifier: BSD-2-Clause
// Sets the sampling rate in the form that the programs use (sampling.h).
#pragma once

#include <cstdint>
#include <string>

#include "probes/alloc/bpf/config.h"
#include "probes/alloc/settings/options.h"

namespace memflame {

inline constexpr uint64_t largest_sample_bytes = 1ULL << 30;

// Keeps one block per `bytes` allocated, on average; 0 keeps all.
void set_sampling(bpf::rate& rate, uint64_t bytes);
// Keeps one block in `every`; 0 and 1 keep all.
void set_every(bpf::rate& rate, uint32_t every);

// Whether the options ask for sampling.
bool is_sampled(const AllocOptions& options);
// "1 sample per 512 KiB"; empty if all blocks are counted.
std::string sampling_in_words(const AllocOptions& options);

// Fills the programs' table of probabilities.
void fill_probabilities(bpf::alloc_config& config);

}  // namespace memflame
