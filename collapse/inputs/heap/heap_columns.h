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

// Columns inuse_objects, inuse_space and, on demand, alloc_objects, alloc_space; if they are
// estimates, a column of variances follows for each.
class HeapColumns {
 public:
  // `rate`: bytes allocated between two samples, on average; 1 or less = every allocation is seen.
  // `prefix` names the columns of memory in use.
  HeapColumns(uint64_t rate, bool accumulated, const std::string& prefix = "inuse");

  const std::vector<ValueType>& types() const { return types_; }
  static constexpr size_t shown = 1;
  bool sampled() const { return rate_ > 1; }
  std::string sampling() const;  // for Meta::sampling, "" if nothing is sampled

  // One row; valid until the next call. Throws Error if an estimate does not fit in 64 bits.
  const std::vector<int64_t>& values(const HeapCounts& in_use, const HeapCounts& allocated);

 private:
  void put(size_t column, const HeapCounts& seen);

  uint64_t rate_;
  bool accumulated_;
  std::vector<ValueType> types_;
  std::vector<int64_t> row_;
};

// The estimate for what was seen: each allocation of s bytes is seen with probability 1 -
// exp(-s/rate). The fraction is truncated, as pprof does. Throws Error beyond 64 bits.
HeapCounts estimated(uint64_t rate, const HeapCounts& seen);

}  // namespace memflame
