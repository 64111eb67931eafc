// SPDX-License-Identifier: BSD-2-Clause
// Which blocks are sampled and what they stand for: the code that runs in the kernel, here with
// seeded random numbers.
#include <doctest/doctest.h>

#include <cmath>
#include <deque>
#include <random>
#include <vector>

#include "probes/alloc/settings/rate.h"
#include "probes/options/common_options.h"
#include "probes/options/variance.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

namespace in_kernel {
using namespace bpf;  // NOLINT(google-build-using-namespace): the words of sampling.h

bpf::alloc_config own;
bpf::rate rate;
std::mt19937 random(20230712);
std::deque<u32> chosen;  // instead of random numbers

u32 bpf_get_prandom_u32() {
  if (chosen.empty()) return static_cast<u32>(random());
  const u32 number = chosen.front();
  chosen.pop_front();
  return number;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include "probes/alloc/bpf/sampling.h"
#pragma GCC diagnostic pop
}  // namespace in_kernel

constexpr double far = 5;  // standard errors; by chance once in 1.7 million

void sample(uint64_t bytes) {
  fill_probabilities(in_kernel::own);
  set_sampling(in_kernel::rate, bytes);
}

double probability_of(uint64_t size) {
  return std::ldexp(static_cast<double>(in_kernel::probability(size)), -bpf::keep_bits);
}

bpf::block kept_block(uint64_t size) {
  const uint64_t p = in_kernel::probability(size);
  bpf::block block{};
  block.size = size;
  block.weight = in_kernel::weight_of(size, p);
  block.count = in_kernel::count_of(p);
  block.seed = in_kernel::bpf_get_prandom_u32();
  return block;
}

// A mean, and how far off it may be.
class Mean {
 public:
  void add(double value) {
    ++n_;
    sum_ += value;
    squares_ += value * value;
  }
  double value() const { return sum_ / n_; }
  double error() const {
    return std::sqrt(std::max(0.0, squares_ / n_ - value() * value()) / (n_ - 1));
  }
  // `unit`: values are rounded to multiples of it at random, so rarely that a sample may never show
  // it.
  bool agrees_with(double truth, double slack, double unit) const {
    const double part = truth / unit - std::floor(truth / unit);
    const double rounding = unit * std::sqrt(part * (1 - part) / n_);
    return std::abs(value() - truth) <= far * std::max(error(), rounding) + far * unit / n_ + slack;
  }

 private:
  double n_ = 0, sum_ = 0, squares_ = 0;
};

std::vector<uint64_t> sizes() {
  std::vector<uint64_t> all;
  for (uint64_t power = 1; power <= 1ULL << 30; power *= 2)
    for (const uint64_t size : {power, power + power / 3, 2 * power - 1})
      if (size <= 1ULL << 30 && (all.empty() || size > all.back())) all.push_back(size);
  return all;
}

struct Totals {
  Mean bytes, count, bytes_variance, count_variance;
};

// The expected sum of the sampled blocks of this size.
Totals expected(uint64_t size) {
  Totals totals;
  for (int i = 0; i < 1000; ++i) {
    const bpf::block block = kept_block(size);
    REQUIRE(block.weight >= size);
    totals.bytes.add(static_cast<double>(block.weight));
    totals.count.add(block.count);
    totals.bytes_variance.add(static_cast<double>(in_kernel::variance_of(&block)) * variance_unit);
    totals.count_variance.add(static_cast<double>(block.count) * (block.count - 1.0));
  }
  return totals;
}

}  // namespace

TEST_CASE("sampling: a block is kept with exactly the probability that its weight assumes") {
  const uint64_t all = 1ULL << bpf::keep_bits;
  for (const uint64_t p :
       {uint64_t{1}, uint64_t{255}, uint64_t{256}, uint64_t{257}, all / 97, all / 2, all - 1}) {
    CAPTURE(p);
    // Forty random bits decide: kept for the p smallest numbers.
    const auto kept = [&](uint64_t draw) {
      in_kernel::chosen = {static_cast<uint32_t>(draw >> 8), static_cast<uint32_t>(draw)};
      const int result = in_kernel::is_kept(p);
      in_kernel::chosen.clear();
      return result != 0;
    };
    CHECK(kept(0));
    CHECK(kept(p - 1));
    CHECK_FALSE(kept(p));
    CHECK_FALSE(kept(all - 1));
  }
  CHECK(in_kernel::is_kept(all) != 0);
}

TEST_CASE("sampling: the probability is that of a mark within the block") {
  for (uint64_t distance = 1; distance <= largest_sample_bytes; distance *= 4) {
    sample(distance);
    for (const uint64_t size : sizes()) {
      CAPTURE(distance);
      CAPTURE(size);
      const double truth = -std::expm1(-static_cast<double>(size) / static_cast<double>(distance));
      const double p = probability_of(size);
      CHECK(p <= truth * 1.0001 + 1e-6);
      CHECK(p >= truth * 0.968);
      if (size >= 16 * distance) CHECK(p == 1);
    }
  }
}

TEST_CASE("sampling: bytes, blocks and their variances are right on average, for all sizes") {
  for (uint64_t distance = 1; distance <= largest_sample_bytes; distance *= 2) {
    sample(distance);
    for (const uint64_t size : sizes()) {
      CAPTURE(distance);
      CAPTURE(size);
      const double p = probability_of(size);
      const auto bytes = static_cast<double>(size);
      const Totals totals = expected(size);
      // The remaining difference is the last bits of random numbers and of quotients.
      constexpr double slack = 1e-6;
      CHECK(totals.bytes.agrees_with(bytes / p, slack * bytes / p, 1));
      CHECK(totals.count.agrees_with(1 / p, slack / p, 1));
      // Rounding to whole numbers at random has a variance of its own.
      const auto rounding = [](double value) {
        const double part = value - std::floor(value);
        return part * (1 - part);
      };
      CHECK(totals.bytes_variance.agrees_with(bytes * bytes * (1 - p) / p / p + rounding(bytes / p),
                                              slack * bytes * bytes / p / p, variance_unit));
      CHECK(totals.count_variance.agrees_with((1 - p) / p / p + rounding(1 / p), slack / p / p, 1));
    }
  }
}

TEST_CASE("sampling: one in N") {
  for (const uint32_t every : {2U, 3U, 97U, 100000U, most_every}) {
    set_every(in_kernel::rate, every);
    for (const uint64_t size : {1ULL, 16ULL, 4097ULL, 1ULL << 24, 3ULL << 30, 1ULL << 38}) {
      CAPTURE(every);
      CAPTURE(size);
      const Totals totals = expected(size);
      CHECK(totals.bytes.agrees_with(static_cast<double>(size) * every,
                                     1e-4 * static_cast<double>(size) * every, 1));
      CHECK(totals.count.agrees_with(every, 1e-4 * every, 1));
    }
  }
  set_every(in_kernel::rate, 1);
  CHECK(probability_of(7) == 1);
}

TEST_CASE("sampling: no sampling counts what there is") {
  sample(0);
  for (const uint64_t size : {0ULL, 1ULL, 1ULL << 20, 1ULL << 46}) {
    const bpf::block block = kept_block(size);
    CHECK(block.weight == size);
    CHECK(block.count == 1);
    CHECK(in_kernel::variance_of(&block) == 0);
  }
}

TEST_CASE("sampling: sums are right on average, and as far off as said, while the rate changes") {
  // Many small blocks and some large ones, half of them freed after the rate has changed.
  std::vector<uint64_t> blocks(4000);
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = uint64_t{16} << i % 12;
  double truth = 0;
  for (const uint64_t size : blocks) truth += static_cast<double>(size);
  Mean total;
  Mean said;
  double spread = 0;
  constexpr int runs = 400;
  for (int run = 0; run < runs; ++run) {
    double sum = 0;
    double variance = 0;
    double live = 0;
    std::vector<bpf::block> table;
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (i % 500 == 0) sample(4096ULL << 2 * (i / 500 % 5));
      const uint64_t p = in_kernel::probability(blocks[i]);
      if (in_kernel::is_kept(p) == 0) continue;
      table.push_back(kept_block(blocks[i]));
      sum += static_cast<double>(table.back().weight);
      live += static_cast<double>(table.back().weight);
      variance += static_cast<double>(in_kernel::variance_of(&table.back())) * variance_unit;
    }
    sample(1 << 30);
    for (const bpf::block& block : table) live -= static_cast<double>(block.weight);
    CHECK(live == 0);
    total.add(sum);
    said.add(variance);
    spread += (sum - truth) * (sum - truth) / runs;
  }
  CHECK(total.agrees_with(truth, 0, 1));
  // The square of a spread from 400 runs is within a third of the true one.
  CHECK(spread / said.value() > 0.67);
  CHECK(spread / said.value() < 1.5);
}
