// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/history/thin.h"

#include <utility>

namespace memflame {
namespace {

void add_earlier(Look& look, Look earlier) {
  std::vector<Look::Row> rows;
  rows.reserve(look.rows.size() + earlier.rows.size());
  auto old = earlier.rows.begin();
  for (Look::Row& row : look.rows) {
    for (; old != earlier.rows.end() && old->track < row.track; ++old)
      rows.push_back(std::move(*old));
    if (old != earlier.rows.end() && old->track == row.track) ++old;
    rows.push_back(std::move(row));
  }
  for (; old != earlier.rows.end(); ++old) rows.push_back(std::move(*old));
  look.rows = std::move(rows);
  look.ended.insert(look.ended.begin(), earlier.ended.begin(), earlier.ended.end());
}

}  // namespace

std::optional<Look> LookThinner::add(Look look, bool is_old) {
  if (dropped_) add_earlier(look, std::move(*std::exchange(dropped_, std::nullopt)));
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
