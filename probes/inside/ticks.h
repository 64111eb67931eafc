// SPDX-License-Identifier: BSD-2-Clause
// The TSC as a clock: records carry ticks, recordings CLOCK_MONOTONIC. Two points of both clocks
// give the rate; the later the second one is taken, the more exact: 50 ns at each end.
#pragma once

#include <x86intrin.h>

#include <cstdint>

namespace memflame::inside {

inline uint64_t now_ticks() { return __rdtsc(); }

class Ticks {
 public:
  // Takes the first point, waits 4 ms, and takes the second.
  Ticks();
  // Takes the second point anew.
  void refine();

  uint64_t ns(uint64_t ticks) const;
  uint64_t per_ms() const { return static_cast<uint64_t>(ticks_per_ns_ * 1e6); }
  uint64_t of_us(uint64_t us) const {
    return static_cast<uint64_t>(static_cast<double>(us) * 1000 * ticks_per_ns_);
  }

 private:
  struct Point {
    uint64_t ticks = 0, ns = 0;
  };
  static Point now();

  Point first_;
  double ticks_per_ns_ = 1;
};

}  // namespace memflame::inside
