// SPDX-License-Identifier: BSD-2-Clause
// When to look at processes again: looks of many take their time, and memflame may watch for weeks.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/clock.h"
#include "probes/processes/spaces.h"

namespace memflame {

class Pace {
 public:
  // Looks come this often, or more rarely: they are to take no more than one part in `share` of a
  // processor.
  constexpr Pace(uint64_t shortest_ns, uint64_t share) : shortest_ns_(shortest_ns), share_(share) {}

  // Looks if it is time.
  template <typename LookAtAll>
  void look(const LookAtAll& look_at_all) {
    if (monotonic_ns() < next_ns_) return;
    const uint64_t began = thread_cpu_ns();
    look_at_all();
    const uint64_t took = thread_cpu_ns() - began;
    next_ns_ = monotonic_ns() + std::clamp(took * share_, shortest_ns_, longest_ns);
  }

 private:
  static constexpr uint64_t longest_ns = 5'000'000'000;

  uint64_t shortest_ns_, share_, next_ns_ = 0;
};

}  // namespace memflame
