// SPDX-License-Identifier: BSD-2-Clause
#include "core/history.h"

#include <algorithm>
#include <string_view>

namespace memflame {

std::optional<BlockColumns> block_columns(std::span<const ValueType> types) {
  const auto column = [&](std::string_view name) {
    const auto found = std::find_if(types.begin(), types.end(),
                                    [&](const ValueType& type) { return type.name == name; });
    return static_cast<size_t>(found - types.begin());
  };
  const BlockColumns columns{.live = column("live"),
                             .live_count = column("live-count"),
                             .total = column("total"),
                             .total_count = column("total-count")};
  const size_t last =
      std::max({columns.live, columns.live_count, columns.total, columns.total_count});
  if (last >= types.size()) return std::nullopt;
  return columns;
}

}  // namespace memflame
