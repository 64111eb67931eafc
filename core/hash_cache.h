// SPDX-License-Identifier: BSD-2-Clause
// Hash -> number, for values that come again and again. A shortcut: it may forget its entries.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/hash.h"
#include "core/huge_pages.h"

namespace memflame {

// Open addressing with linear probing, 16 bytes a slot, at most half full. It compares 96 of a
// hash's 128 bits.
class HashCache {
 public:
  // Holds at most `most` entries; the next one makes it forget all of them.
  explicit HashCache(size_t most = size_t{1} << 20U) : most_(most) {}

  // The number of a hash; 0 if it is not known.
  uint32_t find(const Hash128& hash) const {
    if (slots_.empty()) return 0;
    for (size_t at = hash.low & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[at];
      if (slot.value == 0) return 0;
      if (slot.low == hash.low && slot.high == static_cast<uint32_t>(hash.high)) return slot.value;
    }
  }

  // For a hash that will be looked up soon; always_inline as in core/hash_index.h.
  [[gnu::always_inline]] void prefetch(const Hash128& hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[hash.low & (slots_.size() - 1)]);
  }

  // Adds a number (not 0) for a hash that find() did not find.
  void insert(const Hash128& hash, uint32_t value) {
    if (used_ == most_) {
      slots_.clear();
      used_ = 0;
    }
    if (used_ * 2 >= slots_.size()) grow();
    put({hash.low, static_cast<uint32_t>(hash.high), value});
    ++used_;
  }

 private:
  struct Slot {
    uint64_t low = 0;
    uint32_t high = 0, value = 0;
  };

  void put(const Slot& slot) {
    size_t at = slot.low & (slots_.size() - 1);
    while (slots_[at].value != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
  }

  void grow() {
    constexpr size_t first = 256;
    HugeVector<Slot> old(slots_.empty() ? first : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.value != 0) put(slot);
  }

  size_t most_;
  HugeVector<Slot> slots_;
  size_t used_ = 0;
};

}  // namespace memflame
