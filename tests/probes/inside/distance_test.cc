// SPDX-License-Identifier: BSD-2-Clause
// Where the agent's marks lie: the code that runs in watched programs, here against its formulas.
#include "probes/inside/agent/distance.h"

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>

using namespace memflame;          // NOLINT(google-build-using-namespace): tests only
using namespace memflame::inside;  // NOLINT(google-build-using-namespace)

namespace {

long double minus_ln_of(uint64_t random) {
  return (64 - std::log2(static_cast<long double>(random))) * std::log(2.0L);
}

long double got_for(uint64_t random) {
  return std::ldexp(static_cast<long double>(minus_ln(random)), -log_bits);
}

}  // namespace

TEST_CASE("distance: the logarithm is exact to its last bits") {
  uint64_t random = 1;
  for (int i = 0; i < 20000; ++i) {
    random = i % 2 == 0 ? next_state(random) : random >> i % 64 | 1;
    CAPTURE(random);
    CHECK(std::abs(got_for(random) - minus_ln_of(random)) < std::ldexp(64, -log_bits));
  }
  // Around each part of the table, and at both ends.
  for (uint64_t part = 64; part < 128; ++part)
    for (const uint64_t near : {part << 57, (part << 57) - 1, (part << 57) + 1}) {
      CAPTURE(near);
      CHECK(std::abs(got_for(near) - minus_ln_of(near)) < std::ldexp(4, -log_bits));
    }
  for (const uint64_t power : {uint64_t{1}, uint64_t{1} << 20, uint64_t{1} << 63})
    CHECK(std::abs(got_for(power) - minus_ln_of(power)) < std::ldexp(64, -log_bits));
  // Just below 2^64, where the logarithm is that distance, nothing wraps around.
  for (uint64_t below = 1; below < 5000; below += 7)
    CHECK(minus_ln(0 - below) <= (below >> (64 - log_bits)) + 8);
}

// By the definition of `distance`, a block of `size` bytes reaches the mark if the distance is at
// most `size`: the numbers for which that holds are those above exp(-size / mean) * 2^64.
TEST_CASE("distance: a block reaches the mark with the probability that its weight assumes") {
  constexpr long double all = 18446744073709551616.0L;  // 2^64
  for (const uint64_t mean : {1ULL, 16ULL, 4096ULL, 524288ULL, 1000000007ULL, 1ULL << 30})
    for (const uint64_t size : {1ULL, 16ULL, 100ULL, 4096ULL, 1000000ULL, 1ULL << 32}) {
      CAPTURE(mean);
      CAPTURE(size);
      const long double passed =
          std::exp(-static_cast<long double>(size) / static_cast<long double>(mean));
      if (passed < 1e-15L) {
        CHECK(distance(1, mean) <= size * 45 + 1);
        continue;
      }
      // Bisection: distance() falls as the number grows.
      uint64_t low = 1, high = UINT64_MAX;
      while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (distance(middle, mean) <= size)
          high = middle;
        else
          low = middle + 1;
      }
      const long double reached = 1 - static_cast<long double>(low) / all;
      CHECK(std::abs(reached / (1 - passed) - 1) < 1e-5L);
    }
}

TEST_CASE("distance: random distances have the mean and the spread of the exponential law") {
  constexpr int draws = 1'000'000;
  constexpr double mean = 524288;
  uint64_t state = stirred(20260712);
  double sum = 0, squares = 0, logs = 0;
  int beyond = 0;
  double last = 0, products = 0;
  for (int i = 0; i < draws; ++i) {
    state = next_state(state);
    const double drawn = static_cast<double>(distance(state, 524288)) / mean;
    sum += drawn;
    squares += drawn * drawn;
    logs += std::log(drawn);
    beyond += drawn > 3;
    products += last * drawn;
    last = drawn;
  }
  const double error = 5 / std::sqrt(draws);  // five standard errors of a variable of variance 1
  CHECK(std::abs(sum / draws - 1) < error);
  CHECK(std::abs(squares / draws - 2) < error * std::sqrt(20));
  CHECK(std::abs(logs / draws + 0.5772156649) < error * 1.2826);  // Euler's constant
  CHECK(std::abs(beyond * 1.0 / draws - std::exp(-3)) < error * 0.22);
  CHECK(std::abs(products / draws - 1) < error * std::sqrt(3));  // neighbours are independent
}
