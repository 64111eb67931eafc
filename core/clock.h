// SPDX-License-Identifier: BSD-2-Clause
// The time of day, as recordings, windows and stores keep it.
#pragma once

#include <cstdint>
#include <ctime>

namespace memflame {

// CLOCK_REALTIME.
inline int64_t real_time_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace memflame
