// SPDX-License-Identifier: BSD-2-Clause
// A lock for work that takes less time than to put a thread to sleep and wake it.
#pragma once

#include <atomic>
#include <thread>

namespace memflame {

// For std::unique_lock and its like. Whoever waits only reads, so it does not take the cache line
// from the one that works. If that one has lost its processor, those who wait give up theirs.
class SpinLock {
 public:
  void lock() {
    constexpr int tries = 1000;
    for (int i = 0; !try_lock(); ++i) {
      if (i < tries)
        __builtin_ia32_pause();
      else
        std::this_thread::yield();
    }
  }
  bool try_lock() {
    return !busy_.load(std::memory_order_relaxed) &&
           !busy_.exchange(true, std::memory_order_acquire);
  }
  void unlock() { busy_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> busy_ = false;
};

}  // namespace memflame
