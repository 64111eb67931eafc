// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/estimates.h"

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>

#include "probes/bpf/shared.h"
#include "probes/options/variance.h"

using namespace memflame;          // NOLINT(google-build-using-namespace): tests only
using namespace memflame::inside;  // NOLINT(google-build-using-namespace)

TEST_CASE("a sampled block stands for its size and for one block, over its probability") {
  constexpr int seeds = 4000;
  for (const uint64_t mean : {1ULL, 64ULL, 4096ULL, 524288ULL, 1ULL << 30})
    for (const uint64_t size : {1ULL, 48ULL, 5000ULL, 524288ULL, 1ULL << 34}) {
      CAPTURE(mean);
      CAPTURE(size);
      const auto s = static_cast<double>(size);
      const double p = -std::expm1(-s / static_cast<double>(mean));
      double bytes = 0, blocks = 0, bytes_variance = 0, blocks_variance = 0;
      for (uint64_t seed = 0; seed < seeds; ++seed) {
        const Estimate estimate = estimate_of(size, mean, seed);
        REQUIRE(estimate.bytes >= size);
        REQUIRE(estimate.blocks >= 1);
        REQUIRE(std::abs(static_cast<double>(estimate.bytes) - s / p) < 1 + 1e-9 * s / p);
        bytes += static_cast<double>(estimate.bytes) / seeds;
        blocks += static_cast<double>(estimate.blocks) / seeds;
        bytes_variance += static_cast<double>(estimate.bytes_variance) * variance_unit / seeds;
        blocks_variance += static_cast<double>(estimate.blocks_variance) / seeds;
      }
      // Rounding up or down moves a number by half at most, five standard errors of the mean.
      const double off = 5 * 0.5 / std::sqrt(seeds);
      CHECK(std::abs(bytes - s / p) < off + 1e-9 * s / p);
      CHECK(std::abs(blocks - 1 / p) < off + 1e-9 / p);
      const double w = s / p;
      CHECK(std::abs(bytes_variance - w * (w - s)) <
            off * variance_unit + 2 * w + 1e-9 * w * w + 0.25);
      CHECK(std::abs(blocks_variance - (1 / p) * (1 / p - 1)) <
            2 * off / p + 0.26 + 1e-9 / (p * p));
    }
}

TEST_CASE("an estimate is the same each time, so that a free takes back what was added") {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const Estimate one = estimate_of(40, 4096, seed), two = estimate_of(40, 4096, seed);
    REQUIRE(one.bytes == two.bytes);
    REQUIRE(one.blocks == two.blocks);
    REQUIRE(one.bytes_variance == two.bytes_variance);
    REQUIRE(one.blocks_variance == two.blocks_variance);
  }
}

TEST_CASE("a block that is surely sampled stands for itself, whatever a ring says") {
  const Estimate large = estimate_of(1 << 20, 64, 7);
  CHECK(large.bytes == 1 << 20);
  CHECK(large.blocks == 1);
  CHECK(large.bytes_variance == 0);
  CHECK(large.blocks_variance == 0);
  const Estimate largest = estimate_of((uint64_t{1} << 40) - 1, 1 << 30, 7);
  CHECK(largest.bytes == (uint64_t{1} << 40) - 1);
  const Estimate none = estimate_of(0, 1 << 30, 7);  // agents sample no such block
  CHECK(none.blocks >= 1);
}
