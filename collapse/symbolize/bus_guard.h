// Survives files that shrink while they are read.
#pragma once

#include <csignal>
#include <cstdint>

namespace memflame {

// libelf reads through mmap. Touching a page behind the end of a file that was cut short since then
// raises SIGBUS, and any program that is watched can do that to its own files. While a guard lives,
// such a page is replaced by zeros: the file reads as damaged, which all readers here must take
// anyhow. One guard at a time.
class BusGuard {
 public:
  BusGuard();
  ~BusGuard();
  BusGuard(const BusGuard&) = delete;
  BusGuard& operator=(const BusGuard&) = delete;

  // Pages replaced since the guard was made.
  static uint64_t pages_replaced();

 private:
  struct sigaction before_ {};
};

}  // namespace memflame
