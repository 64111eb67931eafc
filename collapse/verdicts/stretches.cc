// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/verdicts/stretches.h"

#include <algorithm>

#include "core/error.h"

namespace memflame {

uint32_t Stretches::place_at(uint64_t time_ns) const {
  const auto after = std::upper_bound(begins_.begin(), begins_.end(), time_ns);
  return static_cast<uint32_t>(std::max<std::ptrdiff_t>(after - begins_.begin() - 1, 0));
}

void Stretches::survey(std::span<const uint64_t> begins, uint64_t time_ns) {
  if (begins.empty() || !std::is_sorted(begins.begin(), begins.end()) || begins.back() > time_ns ||
      time_ns < end_ns_)
    throw Error("the stretches of a survey are not in the order of time");
  const std::vector<uint64_t> before = std::move(begins_);
  begins_.clear();
  // A boundary that was given up stays so: what lay around it has been added up.
  for (const uint64_t begin : begins)
    if (begins_.empty() || before.empty() || begin >= end_ns_ ||
        std::binary_search(before.begin(), before.end(), begin))
      begins_.push_back(begin);
  end_ns_ = time_ns;
  join_until_few();
  places_.clear();
  for (const uint64_t begin : begins) places_.push_back(place_at(begin));
}

void Stretches::join_until_few() {
  while (begins_.size() > most) {
    size_t best = 1;
    double least = 0;
    for (size_t i = 1; i + 1 < begins_.size(); ++i) {
      const auto width = static_cast<double>(begins_[i + 1] - begins_[i - 1]);
      const double cost = width / (static_cast<double>(end_ns_ - begins_[i + 1]) + 1);
      if (i == 1 || cost < least) {
        best = i;
        least = cost;
      }
    }
    begins_.erase(begins_.begin() + static_cast<std::ptrdiff_t>(best));
  }
}

}  // namespace memflame
