// SPDX-License-Identifier: BSD-2-Clause
// The width of a node.
#include <algorithm>

#include "core/difference.h"
#include "core/error.h"
#include "render/picture/frame_tree.h"

namespace memflame {

[[noreturn]] void sums_too_large() {
  throw Error("the values of this profile add up to more than 64 bits; they cannot be drawn");
}

int64_t checked_sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) sums_too_large();
  return sum;
}

Width width_of(const Profile& profile, WidthOf of) {
  const bool one = of == WidthOf::shown || of == WidthOf::size;
  const auto states = one ? std::nullopt : difference_of(profile);
  return states ? Width{of, states->before, states->after}
                : Width{of, profile.shown, profile.shown};
}

int64_t Width::operator()(std::span<const int64_t> row) const {
  const auto positive = [](int64_t value) { return std::max<int64_t>(value, 0); };
  const int64_t first = row[before], second = row[after];
  int64_t change = 0;
  switch (of) {
    case WidthOf::before:
      return positive(first);
    case WidthOf::larger:
      return positive(std::max(first, second));
    case WidthOf::both:
      if (__builtin_add_overflow(positive(first), positive(second), &change)) sums_too_large();
      return change;
    case WidthOf::change:
      if (__builtin_sub_overflow(second, first, &change)) sums_too_large();
      break;
    case WidthOf::size:
      change = second;
      break;
    case WidthOf::shown:
    case WidthOf::after:
      return positive(second);
  }
  if (change == INT64_MIN) sums_too_large();
  return change < 0 ? -change : change;
}

}  // namespace memflame
