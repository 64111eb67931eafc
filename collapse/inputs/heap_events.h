// SPDX-License-Identifier: BSD-2-Clause
// Blocks that come and go, as counters of their kinds: what is left, what was there at the moment
// of the highest sum, what was freed again at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ids.h"

namespace memflame {

// All blocks of one size and one place of allocation.
struct BlockKind {
  int64_t size = 0;  // bytes of each
  int64_t live = 0, at_peak = 0;
  int64_t allocations = 0, temporary = 0;
  uint64_t peak_seen = 0;  // the number of the sum's maximum that at_peak belongs to
  uint32_t place = 0;      // the caller's business
};

// An event costs a constant time and touches one kind. A copy of all counters at every new maximum
// of the sum would not do (there can be as many as allocations), and a second pass over the input
// cannot be had from a pipe. But a counter has to be copied only before it changes for the first
// time since the last maximum: until then it is what it was at that moment. So maxima are numbered,
// and each kind remembers which one its copy was made for.
class HeapEvents {
 public:
  // The index of the kind is their number before. `size` >= 0.
  void add_kind(int64_t size, uint32_t place) { kinds_.push_back({.size = size, .place = place}); }
  size_t kinds() const { return kinds_.size(); }

  // Throws Error when the sum leaves 64 bits.
  void allocate(size_t kind);
  // False when no block of this kind is there.
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
