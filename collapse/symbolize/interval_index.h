// SPDX-License-Identifier: BSD-2-Clause
// Which of many ranges, possibly overlapping, contain an address.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace memflame {

// Ranges are sorted by start; beside each stands how far it and those before it reach, so a search
// walks back from the last start at or below the address only while an earlier range can reach it.
template <class T>
class IntervalIndex {
 public:
  void add(uint64_t start, uint64_t end, T value) {
    if (start < end) rows_.push_back({start, end, 0, value});
  }

  void build() {
    std::stable_sort(rows_.begin(), rows_.end(),
                     [](const Row& a, const Row& b) { return a.start < b.start; });
    uint64_t reach = 0;
    for (Row& row : rows_) row.reach = reach = std::max(reach, row.end);
  }

  // Calls visit(value) for every range that contains `at`, last start first, until it returns true.
  template <class Visit>
  bool visit(uint64_t at, Visit visit_one) const {
    const auto after = std::upper_bound(rows_.begin(), rows_.end(), at,
                                        [](uint64_t a, const Row& row) { return a < row.start; });
    for (auto row = after; row != rows_.begin();) {
      --row;
      if (row->reach <= at) return false;
      if (row->end > at && visit_one(row->value)) return true;
    }
    return false;
  }

  size_t size() const { return rows_.size(); }

 private:
  struct Row {
    uint64_t start, end, reach;
    T value;
  };
  std::vector<Row> rows_;
};

}  // namespace memflame
