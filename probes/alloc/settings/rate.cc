// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/settings/rate.h"

#include <cmath>

#include "core/units.h"

namespace memflame {
namespace {

// The programs may run meanwhile and see old and new fields mixed. Any mixture is a valid rate,
// because a block's weight follows from the probability with which it was sampled.
template <class T>
void set(T& field, T value) {
  __atomic_store_n(&field, value, __ATOMIC_SEQ_CST);
}

}  // namespace

void set_sampling(bpf::rate& rate, uint64_t bytes) {
  if (bytes == 0) return set(rate.sampling, uint32_t{bpf::sampling_none});
  set(rate.certain, bytes * 16);
  set(rate.inverse, (uint64_t{1} << 32) / bytes);
  set(rate.sampling, uint32_t{bpf::sampling_bytes});
}

void set_every(bpf::rate& rate, uint32_t every) {
  if (every <= 1) return set(rate.sampling, uint32_t{bpf::sampling_none});
  set(rate.one_in, (uint64_t{1} << bpf::keep_bits) / every);
  set(rate.sampling, uint32_t{bpf::sampling_every});
}

bool is_sampled(const AllocOptions& options) {
  return options.sample_bytes != 0 || options.every > 1 || options.max_overhead > 0;
}

std::string sampling_in_words(const AllocOptions& options) {
  if (options.sample_bytes != 0)
    return "1 sample per " + iec_bytes(static_cast<int64_t>(options.sample_bytes));
  if (options.max_overhead > 0) return "at the rate that --max-overhead allows";
  return options.every > 1 ? "1 in " + std::to_string(options.every) + " allocations" : "";
}

void fill_probabilities(bpf::alloc_config& config) {
  for (int i = 0; i <= bpf::keep_steps; ++i)
    config.keep[i] = static_cast<uint64_t>(std::ldexp(-std::expm1(-i / 16.0), bpf::keep_bits));
}

}  // namespace memflame
