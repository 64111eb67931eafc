// SPDX-License-Identifier: BSD-2-Clause
// Sums by what they belong to and by the bins in which blocks were allocated and freed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/hash.h"
#include "core/hash_index.h"
#include "core/interner.h"

namespace memflame {

// `Sums` starts as nothing, and has a function add() that takes others.
template <class Sums>
class ReportCells {
 public:
  static constexpr uint16_t never = UINT16_MAX;
  struct Cell {
    uint32_t owner = 0;
    uint16_t born = 0, freed = never;  // bins
    Sums sums{};
    bool operator<(const Cell& other) const {
      if (owner != other.owner) return owner < other.owner;
      return born != other.born ? born < other.born : freed < other.freed;
    }
  };

  // Valid until the next call.
  Sums& at(uint32_t owner, uint16_t born, uint16_t freed) {
    const uint64_t hash = mix(owner, uint64_t{born} << 16U | freed);
    uint32_t id = index_.find(hash, [&](uint32_t known) {
      const Cell& cell = cells_[known - 1];
      return cell.owner == owner && cell.born == born && cell.freed == freed;
    });
    if (id == 0) {
      cells_.push_back({owner, born, freed, {}});
      id = next_index(cells_.size());
      index_.insert(hash, id);
    }
    return cells_[id - 1].sums;
  }

  size_t size() const { return cells_.size(); }

  // `bins`: the new bin of each bin, of which several may be one.
  void move(std::span<const uint32_t> bins) {
    std::vector<Cell> before;
    before.swap(cells_);
    index_.clear();
    for (const Cell& cell : before)
      at(cell.owner, static_cast<uint16_t>(bins[cell.born]),
         cell.freed == never ? never : static_cast<uint16_t>(bins[cell.freed]))
          .add(cell.sums);
  }

  // By owner, then by bins. Nothing can be added afterwards.
  std::vector<Cell> take_sorted() {
    index_.clear();
    std::sort(cells_.begin(), cells_.end());
    return std::move(cells_);
  }

 private:
  std::vector<Cell> cells_;
  HashIndex index_;  // place + 1
};

}  // namespace memflame
