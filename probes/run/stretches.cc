// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/stretches.h"

#include <algorithm>

namespace memflame {

void BirthStretches::begin(uint64_t time_ns) {
  if (time_ns <= starts_.back()) return;
  if (starts_.size() == most_stretches) {
    // Join the two neighbours that are shortest for their age, so that ages stay equally exact.
    const auto share = [&](size_t i) {  // of the stretches i - 1 and i together
      const uint64_t end = i + 1 < starts_.size() ? starts_[i + 1] : time_ns;
      const auto length = static_cast<double>(end - starts_[i - 1]);
      return length / static_cast<double>(time_ns - starts_[i - 1]);
    };
    size_t shortest = 1;
    for (size_t i = 2; i + 1 < starts_.size(); ++i)
      if (share(i) < share(shortest)) shortest = i;
    starts_.erase(starts_.begin() + static_cast<std::ptrdiff_t>(shortest));
  }
  starts_.push_back(time_ns);
}

uint32_t BirthStretches::of(uint64_t time_ns) const {
  const auto next = std::upper_bound(starts_.begin() + 1, starts_.end(), time_ns);
  return static_cast<uint32_t>(next - starts_.begin() - 1);
}

}  // namespace memflame
