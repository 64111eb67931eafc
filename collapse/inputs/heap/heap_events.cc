// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/heap/heap_events.h"

#include "core/error.h"

namespace memflame {

void HeapEvents::allocate(size_t index) {
  BlockKind& kind = kinds_[index];
  keep(kind);
  if (__builtin_add_overflow(live_, kind.size, &live_))
    throw Error("the bytes in use leave the range of 64 bits");
  ++kind.live;
  ++kind.allocations;
  if (live_ > peak_) {
    peak_ = live_;
    ++peaks_;
  }
  last_kind_ = index;
}

bool HeapEvents::free(size_t index) {
  BlockKind& kind = kinds_[index];
  const bool at_once = index == last_kind_;
  last_kind_ = none;
  if (kind.live == 0) return false;
  keep(kind);
  --kind.live;
  live_ -= kind.size;
  if (at_once) ++kind.temporary;
  return true;
}

const std::vector<BlockKind>& HeapEvents::finish() {
  for (BlockKind& kind : kinds_) keep(kind);
  return kinds_;
}

}  // namespace memflame
