// SPDX-License-Identifier: BSD-2-Clause
// The heap as a stack of segments, each owned by the call that grew it; a shrink pops from the top.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

namespace memflame {

class Segments {
 public:
  // The break moved from `before` to `after` by the stack `owner` (a stack hash).
  void move(uint64_t before, uint64_t after, uint64_t owner);

  // Bytes each owner still has.
  void for_each(const std::function<void(uint64_t owner, int64_t bytes)>& visit) const;

  // The break before the first and after the last move seen; both 0 if there was none.
  uint64_t first_break() const { return first_; }
  uint64_t last_break() const { return last_; }
  // Bytes below the first break that were given back: grown before we watched.
  uint64_t released_older() const { return released_older_; }

 private:
  struct Segment {
    uint64_t end = 0;  // begins at the end of the one below
    uint64_t owner = 0;
  };
  std::vector<Segment> segments_;
  uint64_t first_ = 0, last_ = 0;
  uint64_t base_ = 0;  // where the lowest segment begins
  uint64_t released_older_ = 0;
};

}  // namespace memflame
