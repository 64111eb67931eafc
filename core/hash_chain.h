// SPDX-License-Identifier: BSD-2-Clause
// Stacks by the hashes of their frames' names. A stack is known by one look-up, without its
// callers.
#pragma once

#include <cstdint>

#include "core/hash.h"
#include "core/hash_index.h"
#include "core/huge_pages.h"
#include "core/ids.h"

namespace memflame {

// The hash of a stack: a polynomial in the hashes of its names, modulo 2^128. Hashes of names are
// seeded, so nobody can make an input in which two stacks share one.
inline Hash128 chained(const Hash128& caller, const Hash128& name) {
  __extension__ using Wide = unsigned __int128;
  constexpr auto wide = [](uint64_t low, uint64_t high) { return Wide{high} << 64U | low; };
  constexpr Wide factor = wide(0x9e3779b97f4a7c15ULL, 0xd6e8feb86659fd93ULL);
  const Wide sum = wide(caller.low, caller.high) * factor + wide(name.low, name.high);
  return {static_cast<uint64_t>(sum), static_cast<uint64_t>(sum >> 64U)};
}

// Compares 96 of a hash's 128 bits. Takes 8 bytes a stack, and 8 bytes a slot of the index.
class ChainedStacks {
 public:
  [[gnu::always_inline]] void prefetch(const Hash128& hash) const { index_.prefetch(hash.low); }

  // Compares 32 bits only. 0 is certain; a stack may be another one.
  uint32_t likely(const Hash128& hash) const {
    return index_.find(hash.low, [](uint32_t) { return true; });
  }
  // Fetches what find() compares with.
  [[gnu::always_inline]] void prefetch_check(uint32_t stack) const {
    __builtin_prefetch(&checks_[stack]);
  }

  StackId find(const Hash128& hash) const {
    return StackId{index_.find(hash.low, [&](uint32_t id) { return checks_[id] == hash.high; })};
  }

  // Adds the stack that find() did not find. Stacks are numbered from 1 in the order in which they
  // are added.
  void add(const Hash128& hash) {
    index_.insert(hash.low, static_cast<uint32_t>(checks_.size()));
    checks_.push_back(hash.high);
  }

 private:
  HashIndex index_;
  HugeVector<uint64_t> checks_{0};
};

}  // namespace memflame
