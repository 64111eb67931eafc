// SPDX-License-Identifier: BSD-2-Clause
#include "probes/brk/segments.h"

namespace memflame {

void Segments::move(uint64_t before, uint64_t after, uint64_t owner) {
  if (first_ == 0) first_ = last_ = base_ = before;
  // A move that starts elsewhere than the last one ended means that a move in between was lost:
  // what it grew belongs to nobody (owner 0), what it shrank is gone.
  if (before != last_) {
    last_ = before;
    if (!segments_.empty() && segments_.back().end < before) segments_.push_back({before, 0});
  }
  if (after > before) {
    segments_.push_back({after, owner});
  } else {
    while (!segments_.empty()) {
      const uint64_t start = segments_.size() > 1 ? segments_[segments_.size() - 2].end : base_;
      if (start < after) {
        if (segments_.back().end > after) segments_.back().end = after;
        break;
      }
      segments_.pop_back();
    }
    if (segments_.empty() && after < base_) {
      released_older_ += base_ - after;
      base_ = after;
    }
  }
  last_ = after;
}

void Segments::for_each(const std::function<void(uint64_t, int64_t)>& visit) const {
  uint64_t start = base_;
  for (const Segment& segment : segments_) {
    visit(segment.owner, static_cast<int64_t>(segment.end - start));
    start = segment.end;
  }
}

}  // namespace memflame
