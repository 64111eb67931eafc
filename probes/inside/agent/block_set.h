// SPDX-License-Identifier: BSD-2-Clause
// A set of blocks that all threads of a process change without a lock. Sampled: those that were
// recorded, so that only their frees are. Otherwise: those whose record was lost.
//
// The idea: almost no free is of a block in the set, so it looks at a counter of 4 bits first. All
// counters take 16 KiB, which a processor's first cache has room for. Only where the counter is not
// 0 it looks for the address itself, in one line of a larger table. A block has an owner, who puts
// it in before anybody else has its address, and takes it out before it is really freed: so no two
// threads ever change one address. A counter that has reached its maximum stays there, and stands
// for blocks that had no place in the table, too.
//
// Cost: for a block that is not there one load; 512 KiB of address space, used where blocks are.
#pragma once

#include "state.h"

namespace memflame::inside {

constexpr unsigned cell_bits = 15, bucket_bits = 13;
constexpr uint64_t all_cells = (uint64_t{1} << cell_bits) - 1;
constexpr uint64_t full_cell = 15;
constexpr uint32_t bucket_places = 8;  // a cache line

struct BlockSet {
  uint64_t* cells;   // 2^cell_bits counters, 16 in a word
  uint64_t* places;  // 2^bucket_bits buckets of addresses; 0 = empty
};

inline uint64_t block_hash(uint64_t address) { return address * 0x9E3779B97F4A7C15; }
inline uint64_t cell_of(uint64_t address) { return block_hash(address) >> (64 - cell_bits); }
inline uint64_t* bucket_of(const BlockSet& set, uint64_t address) {
  const uint64_t number =
      block_hash(address) >> (64 - cell_bits - bucket_bits) & ((1U << bucket_bits) - 1);
  return set.places + number * bucket_places;
}
inline uint64_t count_in(const BlockSet& set, uint64_t cell) {
  return load(set.cells[cell / 16]) >> cell % 16 * 4 & 15;
}

// Adds 1 or -1 to a counter that is not full.
inline void change_cell(const BlockSet& set, uint64_t cell, uint64_t by) {
  uint64_t& word = set.cells[cell / 16];
  const unsigned shift = cell % 16 * 4;
  uint64_t old = load(word);
  while ((old >> shift & 15) != full_cell &&
         !__atomic_compare_exchange_n(&word, &old, old + (by << shift), true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
  }
}
inline void fill_cell(const BlockSet& set, uint64_t cell) {
  __atomic_fetch_or(&set.cells[cell / 16], full_cell << cell % 16 * 4, __ATOMIC_RELAXED);
}

// False if there is no place; its counter is full then.
inline bool put_in(const BlockSet& set, uint64_t address) {
  uint64_t* const bucket = bucket_of(set, address);
  for (uint32_t i = 0; i < bucket_places; ++i)
    if (load(bucket[i]) == address) return true;  // it was freed unseen
  for (uint32_t i = 0; i < bucket_places; ++i) {
    uint64_t empty = 0;
    if (load(bucket[i]) != 0 || !__atomic_compare_exchange_n(&bucket[i], &empty, address, false,
                                                             __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      continue;
    change_cell(set, cell_of(address), 1);
    return true;
  }
  fill_cell(set, cell_of(address));
  return false;
}

// Whether it was there.
inline bool take_from(const BlockSet& set, uint64_t address) {
  uint64_t* const bucket = bucket_of(set, address);
  for (uint32_t i = 0; i < bucket_places; ++i) {
    if (load(bucket[i]) != address) continue;
    store(bucket[i], 0);
    change_cell(set, cell_of(address), ~uint64_t{0});
    return true;
  }
  return false;
}

}  // namespace memflame::inside
