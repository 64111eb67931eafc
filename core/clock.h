// SPDX-License-Identifier: BSD-2-Clause
// The time of day, as recordings, windows and stores keep it, and processor time.
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

// Processor time of the running thread.
inline uint64_t thread_cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace memflame
