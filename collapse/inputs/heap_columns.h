// SPDX-License-Identifier: BSD-2-Clause
// The figures of heap profiles that sample one allocation per N bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/profile.h"

namespace memflame {

struct HeapCounts {
  int64_t objects = 0, bytes = 0;
};

// Columns inuse_objects, inuse_space and, on demand, alloc_objects, alloc_space; behind them one
// with the variance of each when they are estimates.
class HeapColumns {
 public:
  // `rate`: bytes allocated between two samples, on average; 1 or less = every allocation is seen.
  // `prefix` is of the columns for what is in use.
  HeapColumns(uint64_t rate, bool accumulated, const std::string& prefix = "inuse");

  const std::vector<ValueType>& types() const { return types_; }
  static constexpr size_t shown = 1;
  bool sampled() const { return rate_ > 1; }
  std::string sampling() const;  // for Meta::sampling, "" when nothing is

  // One row; valid until the next call. Throws Error when an estimate leaves 64 bits.
  const std::vector<int64_t>& values(const HeapCounts& in_use, const HeapCounts& allocated);

 private:
  void put(size_t column, const HeapCounts& seen);

  uint64_t rate_;
  bool accumulated_;
  std::vector<ValueType> types_;
  std::vector<int64_t> row_;
};

// The estimate for what was seen: each allocation of s bytes is seen with probability
// 1 - exp(-s/rate). The fraction is cut off, as pprof does. Throws Error beyond 64 bits.
HeapCounts estimated(uint64_t rate, const HeapCounts& seen);

}  // namespace memflame
