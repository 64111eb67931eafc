// SPDX-License-Identifier: BSD-2-Clause
#include "cli/watch/host_budget.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>

using namespace memflame;
using Step = HostBudget::Step;

TEST_CASE("rates fall before a rule is given up") {
  HostBudget budget;
  CHECK(budget.judge(3, 2, true) == Step::none);  // it may pass
  CHECK(budget.judge(1, 2, true) == Step::none);
  double share = 1;
  while (share > least_budget_share) {
    CHECK(budget.judge(3, 2, true) == Step::none);
    CHECK(budget.judge(3, 2, true) == Step::less);
    CHECK(budget.share() <= std::max(share / 2, least_budget_share));
    CHECK(budget.share() >= least_budget_share);
    share = budget.share();
  }
  for (int i = 0; i < 5; ++i) CHECK(budget.judge(3, 2, true) == Step::none);
  CHECK(budget.judge(3, 2, true) == Step::give_up);
  CHECK(budget.judge(3, 2, true) == Step::none);  // the others have time to show what they take
}

TEST_CASE("the rate falls by what is too much") {
  HostBudget budget;
  for (int i = 0; i < 2; ++i) budget.judge(7, 2, true);
  CHECK(budget.share() == doctest::Approx(0.2));
  for (int i = 0; i < 2; ++i) budget.judge(1000, 2, true);
  CHECK(budget.share() == doctest::Approx(0.2 / 8));
}

TEST_CASE("where no rate can fall, a rule is given up after half a minute") {
  HostBudget budget;
  for (int i = 0; i < 5; ++i) CHECK(budget.judge(3, 2, false) == Step::none);
  CHECK(budget.judge(3, 2, false) == Step::give_up);
  CHECK(budget.share() == 1);
}

TEST_CASE("rates rise again when little is used for a minute") {
  HostBudget budget;
  for (int i = 0; i < 4; ++i) budget.judge(2.1, 2, true);
  CHECK(budget.share() == 0.25);
  for (int i = 0; i < 100; ++i) CHECK(budget.judge(1, 2, true) == Step::none);  // enough
  for (const double share : {0.5, 1.0}) {
    for (int i = 0; i < 11; ++i) CHECK(budget.judge(0.5, 2, true) == Step::none);
    CHECK(budget.judge(0.5, 2, true) == Step::more);
    CHECK(budget.share() == share);
  }
  for (int i = 0; i < 20; ++i) CHECK(budget.judge(0.5, 2, true) == Step::none);
}
