// SPDX-License-Identifier: BSD-2-Clause
#include "cli/watch/host_budget.h"

#include <algorithm>

namespace memflame {
namespace {

// Looks in a row. A rate takes some seconds until it shows.
constexpr int costly_until_less = 2, costly_until_given_up = 6, cheap_until_more = 12;
// What was too much is lowered by more than the excess, as there is a part that no rate changes.
constexpr double least_step = 1.0 / 8, usual_step = 1.0 / 2, beyond_excess = 0.7;

}  // namespace

HostBudget::Step HostBudget::judge(double percent, double most, bool can_lower) {
  costly_ = percent > most ? costly_ + 1 : 0;
  // Twice the rate takes at most twice as much.
  cheap_ = percent < most * 0.4 ? cheap_ + 1 : 0;
  if (costly_ >= costly_until_less && can_lower && share_ > least_budget_share) {
    costly_ = 0;
    const double step = std::clamp(most / percent * beyond_excess, least_step, usual_step);
    share_ = std::max(share_ * step, least_budget_share);
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
