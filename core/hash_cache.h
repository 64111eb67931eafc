// SPDX-License-Identifier: BSD-2-Clause
// Hash -> number, for values that come again and again. A shortcut: it may forget its entries.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/hash.h"
#include "core/huge_pages.h"

namespace memflame {

// Open addressing with linear probing, 16 bytes a slot, at most half full. It compares 96 of a
// hash's 128 bits.
//
// Several threads may look for entries while one adds some; callers let threads add one after the
// other. Nobody waits: a slot is two words, and one of them is kept XORed with the other, so that
// two words that do not belong together match no hash (a method of chess programs, by R. Hyatt and
// T. Mann).
class HashCache {
 public:
  // Holds at most `most` entries; the next one makes it forget all of them. `shared`: with other
  // threads, so that a table is kept after a larger one has taken its place.
  explicit HashCache(size_t most = size_t{1} << 20U, bool shared = false)
      : most_(most), shared_(shared) {
    clear();
  }

  // The number of a hash; 0 if it is not known.
  uint32_t find(const Hash128& hash) const {
    const Table& table = *table_.load(std::memory_order_acquire);
    for (size_t at = hash.low & table.mask;; at = (at + 1) & table.mask) {
      const uint64_t entry = table.slots[at].entry.load(std::memory_order_acquire);
      if (entry == 0) return 0;
      if (entry >> 32U != static_cast<uint32_t>(hash.high)) continue;
      const uint64_t mixed = table.slots[at].mixed.load(std::memory_order_relaxed);
      if ((mixed ^ entry) == hash.low) return static_cast<uint32_t>(entry);
    }
  }

  // For a hash that will be looked up soon; always_inline as in core/hash_index.h.
  [[gnu::always_inline]] void prefetch(const Hash128& hash) const {
    const Table& table = *table_.load(std::memory_order_acquire);
    __builtin_prefetch(&table.slots[hash.low & table.mask]);
  }

  // Adds a number (not 0) for a hash that find() did not find.
  void insert(const Hash128& hash, uint32_t value) {
    if (used_ == most_) {
      for (Slot& slot : tables_.back()->slots) slot.entry.store(0, std::memory_order_release);
      used_ = 0;
    }
    if (used_ * 2 >= tables_.back()->slots.size()) grow();
    put(*tables_.back(), hash.low, uint64_t{static_cast<uint32_t>(hash.high)} << 32U | value);
    ++used_;
  }

  // Forgets everything and frees its memory. No other thread may use it.
  void clear() {
    constexpr size_t first = 256;
    tables_.clear();
    tables_.push_back(std::make_unique<Table>(first));
    table_.store(tables_.back().get(), std::memory_order_release);
    used_ = 0;
  }

 private:
  struct Slot {
    std::atomic<uint64_t> mixed{0};  // the hash's low word, XORed with the entry
    std::atomic<uint64_t> entry{0};  // half of its high word, and the number
  };
  struct Table {
    explicit Table(size_t size) : mask(size - 1), slots(size) {}
    const size_t mask;
    HugeVector<Slot> slots;
  };

  static void put(Table& table, uint64_t low, uint64_t entry) {
    size_t at = low & table.mask;
    while (table.slots[at].entry.load(std::memory_order_relaxed) != 0) at = (at + 1) & table.mask;
    table.slots[at].mixed.store(low ^ entry, std::memory_order_relaxed);
    table.slots[at].entry.store(entry, std::memory_order_release);
  }

  void grow() {
    auto larger = std::make_unique<Table>(2 * tables_.back()->slots.size());
    for (const Slot& slot : tables_.back()->slots) {
      const uint64_t entry = slot.entry.load(std::memory_order_relaxed);
      if (entry != 0) put(*larger, slot.mixed.load(std::memory_order_relaxed) ^ entry, entry);
    }
    table_.store(larger.get(), std::memory_order_release);
    if (!shared_) tables_.clear();
    tables_.push_back(std::move(larger));
  }

  size_t most_;
  bool shared_;
  std::vector<std::unique_ptr<Table>> tables_;  // the last one is in use
  std::atomic<const Table*> table_{nullptr};    // the same one, for those who look
  size_t used_ = 0;
};

}  // namespace memflame
