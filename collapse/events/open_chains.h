// SPDX-License-Identifier: BSD-2-Clause
// The earlier blocks of chains that go on.
#pragma once

#include <cstdint>
#include <vector>

#include "core/events.h"
#include "core/interner.h"

namespace memflame {

class OpenChains {
 public:
  OpenChains() : chains_(1) {}

  // A new chain; never 0, which is that of a block that has not moved.
  uint32_t begin() {
    if (free_.empty()) {
      free_.push_back(next_index(chains_.size()));
      chains_.emplace_back();
    }
    const uint32_t place = free_.back();
    free_.pop_back();
    return place;
  }
  void add(uint32_t place, const Block& block) { chains_[place].push_back(block); }
  // In their order. Valid until the next call of another function.
  const std::vector<Block>& operator[](uint32_t place) const { return chains_[place]; }
  void end(uint32_t place) {
    if (place == 0) return;
    chains_[place] = {};
    free_.push_back(place);
  }

 private:
  std::vector<std::vector<Block>> chains_;  // [0] is always empty
  std::vector<uint32_t> free_;
};

}  // namespace memflame
