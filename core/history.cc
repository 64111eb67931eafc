// SPDX-License-Identifier: BSD-2-Clause
#include "core/history.h"

#include <algorithm>
#include <string_view>

#include "core/error.h"

namespace memflame {

void LookRows::add(TrackId track, std::span<const int64_t> values) {
  if (empty()) columns_ = values.size();
  if (values.size() != columns_)
    throw Error("internal: the rows of a look differ in their number of figures");
  tracks_.push_back(track);
  values_.insert(values_.end(), values.begin(), values.end());
}

std::optional<BlockColumns> block_columns(std::span<const ValueType> types) {
  const auto column = [&](std::string_view name) {
    const auto found = std::find_if(types.begin(), types.end(),
                                    [&](const ValueType& type) { return type.name == name; });
    return static_cast<size_t>(found - types.begin());
  };
  const BlockColumns columns{.live = column("live"),
                             .live_count = column("live-count"),
                             .total = column("total"),
                             .total_count = column("total-count"),
                             .is_collected = column(collected_column) < types.size()};
  const size_t last =
      std::max({columns.live, columns.live_count, columns.total, columns.total_count});
  if (last >= types.size()) return std::nullopt;
  return columns;
}

std::vector<size_t> first_columns_of_probes(std::span<const ValueType> types) {
  const std::optional<BlockColumns> blocks = block_columns(types);
  std::vector<size_t> first;
  std::string_view probe;
  for (size_t i = 0; i < types.size(); ++i) {
    const bool is_of_blocks = blocks && (i == blocks->live || i == blocks->live_count ||
                                         i == blocks->total || i == blocks->total_count);
    if (types[i].unit == Unit::variance || is_of_blocks) continue;
    const std::string_view name = types[i].name;
    const size_t end = name.find('-');
    if (end == std::string_view::npos) return {};
    if (name.substr(0, end) != probe) first.push_back(i);
    probe = name.substr(0, end);
  }
  if (!blocks && first.size() < 2) return {};
  return first;
}

}  // namespace memflame
