// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/history/last_figures.h"

#include <algorithm>

namespace memflame {

std::span<int64_t> LastFigures::of(TrackId track) {
  const size_t page = track.index / tracks_of_a_page;
  if (page >= pages_.size()) pages_.resize(page + 1);
  if (pages_[page].empty()) pages_[page].resize(tracks_of_a_page * columns_, 0);
  return std::span(pages_[page]).subspan(track.index % tracks_of_a_page * columns_, columns_);
}

uint64_t LastFigures::bytes_for(TrackId last) const {
  const size_t pages = last.index / tracks_of_a_page + 1;
  return pages <= pages_.size()
             ? 0
             : (pages - pages_.size()) * tracks_of_a_page * columns_ * sizeof(int64_t);
}

void LastFigures::give_back_zeros() {
  for (std::vector<int64_t>& page : pages_)
    if (std::ranges::all_of(page, [](int64_t figure) { return figure == 0; }))
      page = std::vector<int64_t>();
}

}  // namespace memflame
