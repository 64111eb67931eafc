// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/estimates.h"

#include <algorithm>
#include <cmath>

#include "probes/bpf/shared.h"
#include "probes/options/variance.h"

namespace memflame::inside {
namespace {

// Rounds up or down, so that the expected value is the number.
double rounded(double number, uint64_t& seed) {
  seed = bpf::mix(bpf::mix(seed, 1), 2);
  return std::floor(number + std::ldexp(static_cast<double>(seed >> 11), -53));
}

}  // namespace

Estimate estimate_of(uint64_t size, uint64_t mean, uint64_t seed) {
  const auto bytes = static_cast<double>(std::max<uint64_t>(size, 1));
  const double probability = -std::expm1(-bytes / static_cast<double>(mean));
  // A weight is at least the size; rounding errors of the division could make it less.
  const double weight = std::max(rounded(bytes / probability, seed), bytes);
  const double count = std::clamp(rounded(1 / probability, seed), 1.0, double{UINT32_MAX});
  return {static_cast<uint64_t>(weight), static_cast<uint32_t>(count),
          static_cast<int64_t>(rounded(weight * (weight - bytes) / variance_unit, seed)),
          static_cast<int64_t>(count * (count - 1))};
}

}  // namespace memflame::inside
