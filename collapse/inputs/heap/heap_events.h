// SPDX-License-Identifier: BSD-2-Clause
// Allocations and frees, as counters per kind of block: what is left, what was there when the sum
// was highest, what was freed again at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ids.h"

namespace memflame {

// All blocks of one size from one place.
struct BlockKind {
  int64_t size = 0;  // bytes per block
  int64_t live = 0, at_peak = 0;
  int64_t allocations = 0, temporary = 0;
  uint64_t peak_seen = 0;  // the number of the sum's maximum that at_peak belongs to
  uint32_t place = 0;      // meaning is the caller's
};

// Each event takes constant time and touches one kind. Copying all counters at every new maximum
// would be too slow (there can be as many maxima as allocations), and a pipe allows no second pass.
// But a counter need only be copied before its first change after the last maximum: until then it
// is what it was at that moment. So maxima are numbered, and each kind remembers which maximum its
// copy belongs to.
class HeapEvents {
 public:
  // A kind's index is the number of kinds before it. `size` >= 0.
  void add_kind(int64_t size, uint32_t place) { kinds_.push_back({.size = size, .place = place}); }
  size_t kinds() const { return kinds_.size(); }

  // Throws Error if the sum does not fit in 64 bits.
  void allocate(size_t kind);
  // False if there is no block of this kind.
  bool free(size_t kind);

  int64_t live() const { return live_; }
  int64_t peak() const { return peak_; }

  // All kinds with their last copies made; no events after that.
  const std::vector<BlockKind>& finish();

 private:
  static constexpr size_t none = SIZE_MAX;

  void keep(BlockKind& kind) const {
    if (kind.peak_seen == peaks_) return;
    kind.at_peak = kind.live;
    kind.peak_seen = peaks_;
  }

  std::vector<BlockKind> kinds_;
  int64_t live_ = 0, peak_ = 0;
  uint64_t peaks_ = 0;       // maxima so far
  size_t last_kind_ = none;  // of the last event if it was an allocation
};

}  // namespace memflame
