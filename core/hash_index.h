// SPDX-License-Identifier: BSD-2-Clause
// Hash -> small id, for tables that keep their values elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/huge_pages.h"

namespace memflame {

// Open addressing with linear probing; 8 bytes a slot, at most three quarters full. The upper bits
// of the hash choose the place and the slot keeps the upper 32, so the index can grow without the
// values.
class HashIndex {
 public:
  // The id for which `same(id)` holds, among those with this hash; 0 if there is none.
  template <class Same>
  uint32_t find(uint64_t hash, const Same& same) const {
    if (slots_.empty()) return 0;
    const auto tag = static_cast<uint32_t>(hash >> 32);
    for (size_t at = place(tag);; at = (at + 1) & (slots_.size() - 1)) {
      const Slot& slot = slots_[at];
      if (slot.id == 0) return 0;
      if (slot.tag == tag && same(slot.id)) return slot.id;
    }
  }

  // Adds an id (not 0) that find() did not find.
  void insert(uint64_t hash, uint32_t id) {
    if (used_ * 4 >= slots_.size() * 3) grow();
    put({static_cast<uint32_t>(hash >> 32), id});
    ++used_;
  }

  // Makes room for that many entries in all.
  void reserve(size_t count) {
    while (count * 4 > slots_.size() * 3) grow();
  }

  // Brings what find() and insert() look at into the cache. GCC 12 takes such functions for ones
  // without effects and drops calls of them, unless it inlines them early.
  [[gnu::always_inline]] void prefetch(uint64_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[place(static_cast<uint32_t>(hash >> 32))]);
  }

  void clear() {
    slots_.clear();
    used_ = 0;
  }

 private:
  struct Slot {
    uint32_t tag = 0, id = 0;
  };

  size_t place(uint32_t tag) const { return tag >> shift_; }

  void put(Slot slot) {
    size_t at = place(slot.tag);
    while (slots_[at].id != 0) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = slot;
  }

  void grow() {
    constexpr uint32_t first_bits = 6;
    shift_ = slots_.empty() ? 32 - first_bits : shift_ - 1;
    HugeVector<Slot> old(size_t{1} << (32 - shift_));
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.id != 0) put(slot);
  }

  HugeVector<Slot> slots_;
  size_t used_ = 0;
  uint32_t shift_ = 32;  // a tag >> shift_ is its place
};

}  // namespace memflame
