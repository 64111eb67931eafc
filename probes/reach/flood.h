// SPDX-License-Identifier: BSD-2-Clause
// Known blocks and roots -> which blocks pointers still lead to. The idea is LeakSanitizer's: every
// aligned word in a root may be a pointer. A block is reached by any address in it; what is reached
// is searched for pointers in turn. Blocks that nothing reaches are lost. A lost block that another
// lost block points to is indirect, so a ring of lost blocks has no direct one. Cost: each root and
// each block is read once, lost blocks twice; a word costs a comparison, a word that looks like an
// address two short searches. Memory: about 40 bytes for each block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/reach.h"

namespace memflame {

struct KnownBlock {
  uint64_t address = 0, size = 0;
};

// Memory is read, and known to be there, by pages.
inline constexpr uint64_t scanned_page = 4096;

// [from, to)
struct AddressRange {
  uint64_t from = 0, to = 0;

  friend bool operator==(const AddressRange&, const AddressRange&) = default;
};

using MemoryWords = std::span<const uint64_t>;
// Hands over the aligned words of each range, range by range, with the index of the range. Long
// ranges come in pieces; words that are not there are left out.
using WordReader =
    std::function<void(std::span<const AddressRange> ranges,
                       const std::function<void(size_t range, MemoryWords words)>& take)>;

// One result for each block: lost, indirect or reachable. The blocks are sorted by address and may
// overlap: an address in several blocks reaches all of them. A block of no bytes is reached by its
// address. The end of a block does not reach it, except for 8 bytes: that may be the beginning of
// an array of no elements behind its count (new T[0]; LeakSanitizer does the same).
std::vector<Reach> reach_of(std::span<const KnownBlock> blocks, MemoryWords values,
                            std::span<const AddressRange> roots, const WordReader& read);

}  // namespace memflame
