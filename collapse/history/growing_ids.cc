// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/history/growing_ids.h"

#include <algorithm>
#include <utility>

namespace memflame {

Look in_file(const Look& look, const GrowingIds<TrackId>& tracks, std::span<const TrackId> left,
             size_t columns) {
  std::vector<std::pair<TrackId, size_t>> rows;  // with their places; behind the last one: zeros
  for (size_t i = 0; i < look.rows.size(); ++i) rows.emplace_back(tracks[look.rows[i].track], i);
  for (const TrackId track : left) rows.emplace_back(track, look.rows.size());
  std::ranges::sort(rows);
  Look told = look;
  told.rows.clear();
  const std::vector<int64_t> zeros(columns, 0);
  for (const auto& [track, place] : rows)
    told.rows.add(track, place < look.rows.size() ? look.rows[place].values : zeros);
  for (Look::Cell& cell : told.cells) cell.track = tracks[cell.track];
  std::ranges::sort(told.cells, {},
                    [](const Look::Cell& cell) { return std::pair(cell.track, cell.stretch); });
  return told;
}

}  // namespace memflame
