// SPDX-License-Identifier: BSD-2-Clause
#include "core/difference.h"

#include <algorithm>

namespace memflame {

std::optional<Difference> difference_of(const Profile& profile) {
  const auto column = [&](std::string_view name) {
    const auto same = [&](const ValueType& type) { return type.name == name; };
    return static_cast<size_t>(std::find_if(profile.types.begin(), profile.types.end(), same) -
                               profile.types.begin());
  };
  const Difference difference{column("before"), column("after")};
  const size_t none = profile.types.size();
  if (difference.before == none || difference.after == none) return std::nullopt;
  const Unit unit = profile.types[difference.before].unit;
  if (unit != profile.types[difference.after].unit || unit == Unit::variance) return std::nullopt;
  return difference;
}

}  // namespace memflame
