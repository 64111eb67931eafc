// SPDX-License-Identifier: BSD-2-Clause
// The blocks that live, by number.
//
// Open addressing finds them: 8 bytes a slot, at most half full, and removal closes the hole, so
// 10^8 blocks that come and go leave nothing behind. Eight numbers in a row share a cache line,
// since blocks are mostly looked up in the order of their allocations. Cost: 64 bytes a block, and
// 16 to 32 of the index.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/events.h"
#include "core/hash.h"
#include "core/huge_pages.h"

namespace memflame {

// A cache line.
struct alignas(64) OpenBlock {
  BlockNumber number = BlockNumber::none;  // none: this place is free
  uint64_t allocated_ns = 0, address = 0, size = 0, weight = 0;
  uint32_t count = 1;
  ThreadId thread;
  RawStackId stack;
  SpaceId space;
  uint32_t chain = 0;  // its earlier blocks, in OpenChains
  uint16_t seen = 0;   // the last checkpoint that had it
  bool freed = false;  // unless a restore follows
};
static_assert(sizeof(OpenBlock) == 64);

// Pointers are valid until the next add() or compact().
class OpenBlocks {
 public:
  OpenBlocks();

  OpenBlock* find(BlockNumber number);
  // Brings into the cache what find() reads: first its slot, later its block.
  [[gnu::always_inline]] void prefetch_slot(BlockNumber number) const {
    __builtin_prefetch(&slots_[tag_of(number) & (slots_.size() - 1)]);
  }
  void prefetch_block(BlockNumber number) const;
  // The number must not be there.
  OpenBlock& add(const OpenBlock& block);
  void remove(OpenBlock& block);
  // Calls `visit` for each block, in no particular order; it may remove that block.
  template <class Visit>
  void each(const Visit& visit) {
    for (size_t i = 1; i < blocks_.size(); ++i)
      if (blocks_[i].number != BlockNumber::none) visit(blocks_[i]);
  }
  // Gives memory back if most of it is not used. Afterwards each() takes no longer than there are
  // blocks.
  void compact();

  size_t size() const { return size_; }
  // What each() goes through.
  size_t places() const { return blocks_.size(); }

 private:
  struct Slot {
    uint32_t tag = 0, place = 0;  // 0 = empty
  };
  // Eight numbers in a row have slots in a row.
  uint32_t tag_of(BlockNumber number) const {
    constexpr unsigned bits = 3;
    const auto value = static_cast<uint64_t>(number);
    return static_cast<uint32_t>(mix(value >> bits, seed_) << bits | value % (1U << bits));
  }
  void put(Slot slot);
  void grow();

  HugeVector<OpenBlock> blocks_;  // [0] is none
  HugeVector<uint32_t> free_;     // places
  HugeVector<Slot> slots_;        // a power of two
  size_t size_ = 0;
  uint64_t seed_;
};

}  // namespace memflame
