// SPDX-License-Identifier: BSD-2-Clause
// Finds the blocks that contain an address. The idea: blocks are grouped into stretches of memory,
// and each stretch has a table of its pages that says with which block a page begins. So a look-up
// is a search among few stretches and among the blocks of one page. Memory: at most 32 bytes for
// each block, as pages grow where blocks are large.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "probes/reach/flood.h"

namespace memflame {

class BlockIndex {
 public:
  // Sorted by address; must outlive this.
  explicit BlockIndex(std::span<const KnownBlock> blocks);

  // Calls `found` with the place of each block that contains the address.
  template <class Found>
  void find(uint64_t address, const Found& found) {
    if (address - lowest_ > highest_ - lowest_ || blocks_.empty()) return;
    const Stretch* const stretch = stretch_of(address);
    if (stretch == nullptr) return;
    const uint32_t* const page =
        &pages_[stretch->first_page + ((address - stretch->from) >> stretch->page_bits)];
    const auto begin = addresses_.begin();
    const auto after = std::upper_bound(begin + page[0], begin + page[1], address);
    for (size_t i = static_cast<size_t>(after - begin); i-- > stretch->first_block;) {
      if (contains(blocks_[i], address)) found(i);
      if (enclosing_.empty()) return;
      // An earlier block contains the address only if it reaches beyond the begin of this one.
      if (ends_[i] < address || enclosing_[i] == none) return;
      i = size_t{enclosing_[i]} + 1;
    }
  }

 private:
  static constexpr uint32_t none = UINT32_MAX;

  struct Stretch {
    uint64_t from = 0, to = 0;  // both are addresses that can be in its blocks
    size_t first_block = 0, first_page = 0;
    unsigned page_bits = 12;
  };

  static uint64_t last_address(const KnownBlock& block);
  static bool contains(const KnownBlock& block, uint64_t address) {
    return address >= block.address && address <= last_address(block);
  }
  void add_stretch(size_t begin, size_t end, uint64_t last);
  void find_overlaps();
  const Stretch* stretch_of(uint64_t address);

  std::span<const KnownBlock> blocks_;
  std::vector<uint64_t> addresses_;
  std::vector<Stretch> stretches_;
  std::vector<uint32_t> pages_;  // the first block that does not begin before the page
  // Only if blocks overlap. By place: the nearest earlier block that reaches beyond this one's
  // address, and the last address of all blocks up to this one.
  std::vector<uint32_t> enclosing_;
  std::vector<uint64_t> ends_;
  uint64_t lowest_ = 0, highest_ = 0;
  size_t latest_ = 0;  // the stretch of the latest address
};

}  // namespace memflame
