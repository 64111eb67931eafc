// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/ticks.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "probes/processes/spaces.h"

namespace memflame::inside {

// Takes the reading, of several, during which the clock moved least.
Ticks::Point Ticks::now() {
  Point best;
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < 5; ++i) {
    const uint64_t before = now_ticks();
    const uint64_t ns = monotonic_ns();
    const uint64_t after = now_ticks();
    if (after - before >= least) continue;
    least = after - before;
    best = {before + least / 2, ns};
  }
  return best;
}

Ticks::Ticks() : first_(now()) {
  std::this_thread::sleep_for(std::chrono::milliseconds(4));
  refine();
}

void Ticks::refine() {
  const Point point = now();
  if (point.ns <= first_.ns || point.ticks <= first_.ticks) return;
  ticks_per_ns_ =
      static_cast<double>(point.ticks - first_.ticks) / static_cast<double>(point.ns - first_.ns);
}

uint64_t Ticks::ns(uint64_t ticks) const {
  const auto since = static_cast<double>(static_cast<int64_t>(ticks - first_.ticks));
  const double ns = static_cast<double>(first_.ns) + since / ticks_per_ns_;
  return static_cast<uint64_t>(std::clamp(ns, 0.0, 9.2e18));
}

}  // namespace memflame::inside
