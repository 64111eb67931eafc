// SPDX-License-Identifier: BSD-2-Clause
// Survives files that shrink while they are read.
#pragma once

#include <cstdint>

namespace memflame {

// libelf reads through mmap. Touching a page behind the end of a file that has since been truncated
// raises SIGBUS, and any watched program can do that to its own files. While a guard lives, such a
// page is replaced by zeros: the file reads as damaged, which all readers here must handle anyway.
// Several guards may exist, on several threads: the first one takes the signal over, and the last
// one gives it back.
class BusGuard {
 public:
  BusGuard();
  ~BusGuard();
  BusGuard(const BusGuard&) = delete;
  BusGuard& operator=(const BusGuard&) = delete;

  // Pages replaced on this thread since this guard was made.
  uint64_t pages_replaced() const;

 private:
  uint64_t replaced_before_ = 0;
};

}  // namespace memflame
