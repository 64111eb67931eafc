// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/history.h"

namespace memflame {

// The last figures of tracks, zero at first. They lie in pages, so that tracks of processes that
// ended long ago need no room.
class LastFigures {
 public:
  explicit LastFigures(size_t columns) : columns_(columns) {}
  std::span<int64_t> of(TrackId track);
  // The memory that figures of tracks up to this one need more.
  uint64_t bytes_for(TrackId last) const;
  void give_back_zeros();

 private:
  static constexpr size_t tracks_of_a_page = 256;
  size_t columns_;
  std::vector<std::vector<int64_t>> pages_;
};

}  // namespace memflame
