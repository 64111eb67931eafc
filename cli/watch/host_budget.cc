// SPDX-License-Identifier: BSD-2-Clause
#include "cli/watch/host_budget.h"

#include <algorithm>

namespace memflame {
namespace {

// Looks in a row. A rate takes some seconds until it shows.
constexpr int costly_until_less = 2, costly_until_given_up = 3, cheap_until_more = 6;

}  // namespace

HostBudget::Step HostBudget::judge(double percent, double most, bool can_lower) {
  costly_ = percent > most ? costly_ + 1 : 0;
  // Twice the rate takes at most twice as much.
  cheap_ = percent < most * 0.4 ? cheap_ + 1 : 0;
  if (costly_ >= costly_until_less && can_lower && share_ > least_budget_share) {
    costly_ = 0;
    share_ = std::max(share_ / 2, least_budget_share);
    return Step::less;
  }
  if (costly_ >= costly_until_given_up) {
    costly_ = 0;
    return Step::give_up;
  }
  if (cheap_ >= cheap_until_more && share_ < 1) {
    cheap_ = 0;
    share_ = std::min(share_ * 2, 1.0);
    return Step::more;
  }
  return Step::none;
}

}  // namespace memflame
