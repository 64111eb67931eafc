// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/history/thin.h"

#include <algorithm>
#include <utility>

namespace memflame {
namespace {

// The rows of both; where both have a track, the later ones.
LookRows joined(const LookRows& earlier, const LookRows& later) {
  LookRows rows;
  rows.reserve(earlier.size() + later.size(), std::max(earlier.columns(), later.columns()));
  size_t i = 0;
  for (const Look::Row& row : later) {
    for (; i < earlier.size() && earlier[i].track < row.track; ++i)
      rows.add(earlier[i].track, earlier[i].values);
    if (i < earlier.size() && earlier[i].track == row.track) ++i;
    rows.add(row.track, row.values);
  }
  for (; i < earlier.size(); ++i) rows.add(earlier[i].track, earlier[i].values);
  return rows;
}

void add_earlier(Look& look, const Look& earlier) {
  look.rows = joined(earlier.rows, look.rows);
  look.ended.insert(look.ended.begin(), earlier.ended.begin(), earlier.ended.end());
}

}  // namespace

std::optional<Look> LookThinner::add(Look look, bool is_old) {
  if (dropped_) add_earlier(look, *std::exchange(dropped_, std::nullopt));
  if (!is_old) return look;
  if (look.is_survey()) {
    if (!std::exchange(strip_next_, !strip_next_)) return look;
    look.stretches = {};
    look.cells = {};
  }
  if (!std::exchange(drop_next_, !drop_next_)) return look;
  dropped_ = std::move(look);
  return std::nullopt;
}

}  // namespace memflame
