// SPDX-License-Identifier: BSD-2-Clause
// Survives files that shrink while they are read.
#pragma once

#include <cstdint>

namespace memflame {

// libelf reads through mmap. Touching a page behind the end of a file that was cut short since then
// raises SIGBUS, and any program that is watched can do that to its own files. While a guard lives,
// such a page is replaced by zeros: the file reads as damaged, which all readers here must take
// anyhow. There may be several guards, on several threads: the first one takes the signal over, and
// the last one gives it back.
class BusGuard {
 public:
  BusGuard();
  ~BusGuard();
  BusGuard(const BusGuard&) = delete;
  BusGuard& operator=(const BusGuard&) = delete;

  // Pages replaced since this guard was made, in what this thread has read.
  uint64_t pages_replaced() const;

 private:
  uint64_t replaced_before_ = 0;
};

}  // namespace memflame
