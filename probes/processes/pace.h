// SPDX-License-Identifier: BSD-2-Clause
// When to look at processes again: looks of many take their time, and memflame may watch for weeks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>

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
    const uint64_t began = processor_ns();
    look_at_all();
    const uint64_t took = processor_ns() - began;
    next_ns_ = monotonic_ns() + std::clamp(took * share_, shortest_ns_, longest_ns);
  }

 private:
  static constexpr uint64_t longest_ns = 5'000'000'000;

  static uint64_t processor_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
  }

  uint64_t shortest_ns_, share_, next_ns_ = 0;
};

}  // namespace memflame
