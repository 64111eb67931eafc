// SPDX-License-Identifier: BSD-2-Clause
#include "probes/reach/block_index.h"

namespace memflame {
namespace {

// A wider gap between blocks begins another stretch.
constexpr uint64_t widest_gap = uint64_t{1} << 20;
constexpr unsigned smallest_page_bits = 12;

uint64_t pages_of(uint64_t bytes, unsigned bits) { return (bytes >> bits) + 1; }

}  // namespace

// The end of a block of 8 bytes counts, and a block of no bytes has its address: see flood.h.
uint64_t BlockIndex::last_address(const KnownBlock& block) {
  const uint64_t bytes = block.size == 8 ? 9 : std::max<uint64_t>(block.size, 1);
  return block.address + std::min(bytes - 1, UINT64_MAX - block.address);
}

BlockIndex::BlockIndex(std::span<const KnownBlock> blocks) : blocks_(blocks) {
  if (blocks.empty()) return;
  addresses_.reserve(blocks.size());
  for (const KnownBlock& block : blocks) addresses_.push_back(block.address);
  size_t begin = 0;
  uint64_t last = last_address(blocks[0]);
  bool overlap = false;
  for (size_t i = 1; i < blocks.size(); ++i) {
    overlap = overlap || blocks[i].address <= last;
    if (blocks[i].address > last && blocks[i].address - last > widest_gap) {
      add_stretch(begin, i, last);
      begin = i;
    }
    last = std::max(last, last_address(blocks[i]));
  }
  add_stretch(begin, blocks.size(), last);
  lowest_ = blocks[0].address;
  highest_ = last;
  if (overlap) find_overlaps();
}

void BlockIndex::add_stretch(size_t begin, size_t end, uint64_t last) {
  Stretch stretch{.from = blocks_[begin].address,
                  .to = last,
                  .first_block = begin,
                  .first_page = pages_.size(),
                  .page_bits = smallest_page_bits};
  const uint64_t bytes = last - stretch.from;
  while (pages_of(bytes, stretch.page_bits) > 7 * (end - begin) + 64) ++stretch.page_bits;
  size_t block = begin;
  for (uint64_t page = 0; page < pages_of(bytes, stretch.page_bits); ++page) {
    while (block < end && (addresses_[block] - stretch.from) >> stretch.page_bits < page) ++block;
    pages_.push_back(static_cast<uint32_t>(block));
  }
  pages_.push_back(static_cast<uint32_t>(end));
  stretches_.push_back(stretch);
}

void BlockIndex::find_overlaps() {
  std::vector<uint32_t> open;  // blocks that reach beyond the present address, innermost last
  uint64_t last = 0;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    while (!open.empty() && last_address(blocks_[open.back()]) < addresses_[i]) open.pop_back();
    enclosing_.push_back(open.empty() ? none : open.back());
    last = std::max(last, last_address(blocks_[i]));
    ends_.push_back(last);
    open.push_back(static_cast<uint32_t>(i));
  }
}

const BlockIndex::Stretch* BlockIndex::stretch_of(uint64_t address) {
  const Stretch& latest = stretches_[latest_];
  if (address >= latest.from && address <= latest.to) return &latest;
  const auto after =
      std::upper_bound(stretches_.begin(), stretches_.end(), address,
                       [](uint64_t value, const Stretch& stretch) { return value < stretch.from; });
  if (after == stretches_.begin() || address > (after - 1)->to) return nullptr;
  latest_ = static_cast<size_t>(after - 1 - stretches_.begin());
  return &stretches_[latest_];
}

}  // namespace memflame
