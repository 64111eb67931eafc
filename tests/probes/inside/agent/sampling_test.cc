// SPDX-License-Identifier: BSD-2-Clause
// Which blocks the agent chooses while memflame changes the mean.
#include "probes/inside/agent/sampling.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "probes/inside/estimates.h"
#include "probes/options/variance.h"
#include "tests/probes/inside/agent/fake_process.h"

using namespace memflame;          // NOLINT(google-build-using-namespace): tests only
using namespace memflame::inside;  // NOLINT(google-build-using-namespace)

namespace {

struct Sampled {
  FakeProcess process;

  explicit Sampled(uint64_t mean) {
    self = &process.thread();
    set(mean);
    REQUIRE(begin_sampling(mean, false));
  }
  ~Sampled() { sampling = {}; }
  Sampled(const Sampled&) = delete;
  Sampled& operator=(const Sampled&) = delete;

  void set(uint64_t mean) { process.control().sample_bytes = mean; }
};

// How far an estimate is off, in standard errors.
struct Sums {
  double bytes = 0, blocks = 0, bytes_variance = 0, blocks_variance = 0;

  void pass(uint64_t size) {
    bytes -= static_cast<double>(size);
    blocks -= 1;
  }
  void add(const Estimate& estimate) {
    bytes += static_cast<double>(estimate.bytes);
    blocks += static_cast<double>(estimate.blocks);
    bytes_variance += static_cast<double>(estimate.bytes_variance) * variance_unit;
    blocks_variance += static_cast<double>(estimate.blocks_variance);
  }
  void check() const {
    CHECK(std::abs(bytes) < 5 * std::sqrt(bytes_variance));
    CHECK(std::abs(blocks) < 5 * std::sqrt(blocks_variance));
  }
};

}  // namespace

TEST_CASE("estimates are right on average while the mean changes, to coarser and finer ones") {
  Sampled agent(1 << 19);
  std::mt19937_64 random(7);
  Sums sums;
  for (uint64_t i = 0; i < 3'000'000; ++i) {
    if (i % 1000 == 0) agent.set(uint64_t{4096} << random() % 9);
    const uint64_t size = 16 + (random() % 8 == 0 ? random() % 100'000 : random() % 500);
    sums.pass(size);
    if (is_chosen(size, 1)) sums.add(estimate_of(size, chosen_mean, random()));
  }
  sums.check();
}

// Distances are longer than what a thread counts down at once: it looks for a new mean before.
TEST_CASE("a coarse mean is left after some megabytes, and its blocks are right on average") {
  Sampled agent(uint64_t{1} << 30);
  std::mt19937_64 random(8);
  Sums sums;
  uint64_t chosen = 0;
  for (uint64_t i = 0; i < 400'000; ++i) {
    const uint64_t size = 1 + random() % (i % 100 == 0 ? uint64_t{1} << 28 : 1'000'000);
    sums.pass(size);
    if (!is_chosen(size, 1)) continue;
    ++chosen;
    CHECK(chosen_mean == 1 << 30);
    sums.add(estimate_of(size, chosen_mean, random()));
  }
  CHECK(chosen > 500);
  sums.check();
  agent.set(64);
  uint64_t passed = 0;
  while (!is_chosen(4096, 1) || chosen_mean != 64) passed += 4096;
  CHECK(passed <= most_blind + uint64_t{2} * 4096);
}

TEST_CASE("a ring tells the mean of its next allocations once, and before them") {
  Sampled agent(64);
  Thread& thread = agent.process.thread();
  const auto kinds = [&] {
    std::vector<std::pair<Kind, uint64_t>> all;
    const std::vector<uint64_t> words = agent.process.taken();
    for (size_t at = 0; at < words.size();) {
      const Kind kind = kind_of(words[at]);
      all.emplace_back(kind, words[at] & pointer_mask);
      at += kind == kind_alloc ? 3 + (words[at + 2] >> 40 & 1023) : 2;
    }
    return all;
  };
  using Kinds = std::vector<std::pair<Kind, uint64_t>>;
  const auto allocate = [&](uint64_t address) {
    REQUIRE(is_chosen(1 << 20, 1));
    record_alloc(&thread, reinterpret_cast<void*>(address), 1 << 20, fn_malloc, Caller{1, 0, 0});
  };
  thread.lost = mean_untold;  // as a thread begins
  record_free(&thread, reinterpret_cast<void*>(0x30));
  CHECK(kinds() == Kinds{{kind_free, 0x30}});
  allocate(0x10);
  allocate(0x20);
  CHECK(kinds() == Kinds{{kind_mean, 64}, {kind_alloc, 0x10}, {kind_alloc, 0x20}});
  CHECK(agent.process.shared().sample_ticks > 0);
  agent.set(128);
  allocate(0x30);  // was chosen before the change was seen
  allocate(0x40);
  allocate(0x50);
  CHECK(kinds() ==
        Kinds{{kind_alloc, 0x30}, {kind_mean, 128}, {kind_alloc, 0x40}, {kind_alloc, 0x50}});
  // What comes from a signal handler while a record is made does not change that record.
  agent.set(256);
  REQUIRE(is_chosen(1 << 20, 1));
  thread.phase = phase_calling;
  CHECK(is_chosen(1 << 20, 1));
  CHECK(chosen_mean == 128);
  thread.phase = phase_idle;
  thread.lost += 3;
  allocate(0x60);
  CHECK(kinds() == Kinds{{kind_gap, 3}, {kind_mean, 256}, {kind_alloc, 0x60}});
}

TEST_CASE("no process follows a mean that cannot be") {
  Sampled agent(64);
  for (const uint64_t mean : {uint64_t{0}, (uint64_t{1} << 30) + 1, UINT64_MAX}) {
    agent.set(mean);
    for (int i = 0; i < 10; ++i) {
      REQUIRE(is_chosen(1 << 20, 1));
      CHECK(chosen_mean == 64);
    }
  }
}
