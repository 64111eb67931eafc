// SPDX-License-Identifier: BSD-2-Clause
#include "probes/reach/flood.h"

#include <algorithm>

#include "probes/reach/block_index.h"

namespace memflame {
namespace {

AddressRange range_of(const KnownBlock& block) {
  return {block.address, block.address + std::min(block.size, UINT64_MAX - block.address)};
}

class Flood {
 public:
  Flood(std::span<const KnownBlock> blocks, const WordReader& read)
      : blocks_(blocks), index_(blocks), read_(read), result_(blocks.size(), Reach::lost) {}

  void reach(MemoryWords words) {
    for (const uint64_t word : words)
      index_.find(word, [this](size_t block) {
        if (result_[block] == Reach::reachable) return;
        result_[block] = Reach::reachable;
        found_.push_back(static_cast<uint32_t>(block));
      });
  }

  void reach_from(std::span<const AddressRange> roots) {
    read_(roots, [this](size_t, MemoryWords words) { reach(words); });
    // By waves: the blocks of one are read in the order of their addresses, many at once.
    while (!found_.empty()) {
      std::vector<uint32_t> wave;
      wave.swap(found_);
      std::sort(wave.begin(), wave.end());
      std::vector<AddressRange> ranges;
      ranges.reserve(wave.size());
      for (const uint32_t block : wave) ranges.push_back(range_of(blocks_[block]));
      read_(ranges, [this](size_t, MemoryWords words) { reach(words); });
    }
  }

  // A pointer from a block to itself does not count.
  void mark_indirect() {
    std::vector<uint32_t> lost;
    std::vector<AddressRange> ranges;
    for (size_t i = 0; i < result_.size(); ++i) {
      if (result_[i] != Reach::lost) continue;
      lost.push_back(static_cast<uint32_t>(i));
      ranges.push_back(range_of(blocks_[i]));
    }
    read_(ranges, [&](size_t range, MemoryWords words) {
      for (const uint64_t word : words)
        index_.find(word, [&](size_t block) {
          if (result_[block] == Reach::lost && block != lost[range])
            result_[block] = Reach::indirect;
        });
    });
  }

  std::vector<Reach> take() { return std::move(result_); }

 private:
  std::span<const KnownBlock> blocks_;
  BlockIndex index_;
  const WordReader& read_;
  std::vector<Reach> result_;
  std::vector<uint32_t> found_;  // reached, and not read yet
};

}  // namespace

std::vector<Reach> reach_of(std::span<const KnownBlock> blocks, MemoryWords values,
                            std::span<const AddressRange> roots, const WordReader& read) {
  Flood flood(blocks, read);
  flood.reach(values);
  flood.reach_from(roots);
  flood.mark_indirect();
  return flood.take();
}

}  // namespace memflame
