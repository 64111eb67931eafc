// SPDX-License-Identifier: BSD-2-Clause
// The largest stacks.
#include <algorithm>

#include "collapse/tidy/rebuild.h"
#include "collapse/tidy/tidy.h"
#include "core/units.h"

namespace memflame {

Profile top_stacks(Profile profile, size_t count) {
  const size_t all = profile.touched().size();
  if (count == 0 || count >= all) return profile;
  struct Sized {
    uint64_t size = 0;
    size_t order = 0;
    StackId stack;
  };
  std::vector<Sized> sized;
  sized.reserve(all);
  for (const StackId stack : profile.touched()) {
    const int64_t value = profile.values(stack)[profile.shown];
    const uint64_t bits = static_cast<uint64_t>(value);
    sized.push_back({value < 0 ? 0 - bits : bits, sized.size(), stack});
  }
  const auto limit = sized.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(sized.begin(), limit, sized.end(), [](const Sized& a, const Sized& b) {
    return a.size != b.size ? a.size > b.size : a.order < b.order;
  });
  Moved moved;
  moved.place.resize(profile.stacks.size());
  for (uint32_t i = 0; i < moved.place.size(); ++i) moved.place[i] = StackId{i};
  for (auto other = limit; other != sized.end(); ++other) moved.place[other->stack.index] = {};
  const std::string name = "[other stacks: " + with_commas(static_cast<int64_t>(all - count)) + "]";
  moved.stacks = std::move(profile.stacks);
  return with_stacks(std::move(profile), std::move(moved), {}, name);
}

}  // namespace memflame
