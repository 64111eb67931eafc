// SPDX-License-Identifier: BSD-2-Clause
// What all of `memflame watch` may take of a host's processors. When it takes more, rules first
// sample more rarely, and then the last of them is given up. Plain arithmetic; Supervisor measures.
#pragma once

#include <cstdint>

namespace memflame {

// Parts of their own budgets that rules may use: from 1 down to this.
inline constexpr double least_budget_share = 1.0 / 64;

class HostBudget {
 public:
  enum class Step : uint8_t {
    none,
    less,     // the share is half of what it was, or less
    more,     // the share is twice what it was
    give_up,  // a rule is to be given up: less is not possible any more
  };
  // Judges what was used since the last look, in percent of all processors. `can_lower`: there is a
  // rule whose rate of samples follows from a budget.
  Step judge(double percent, double most, bool can_lower);
  double share() const { return share_; }

 private:
  double share_ = 1;
  int costly_ = 0, cheap_ = 0;  // looks in a row
};

}  // namespace memflame
