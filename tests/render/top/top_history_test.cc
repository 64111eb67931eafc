// SPDX-License-Identifier: BSD-2-Clause
#include "render/top/top_history.h"

#include <doctest/doctest.h>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

using Stacks = std::vector<TopHistory::Stack>;
using Series = std::vector<int64_t>;

}  // namespace

TEST_CASE("growth is told per minute, once enough time has passed") {
  TopHistory history(1);
  for (int second = 0; second <= 9; ++second)
    history.add(second, Stacks{{1, 100 + second * 10}, {2, 5000}}, true);
  CHECK_FALSE(history.growth(1).has_value());
  history.add(10, Stacks{{1, 200}, {2, 5000}}, true);
  CHECK(history.growth(1) == 600);
  CHECK(history.growth(2) == 0);
  CHECK_FALSE(history.growth(3).has_value());
  history.add(20, Stacks{{1, 0}, {2, 4000}}, true);
  CHECK(history.growth(2) == -3000);
}

TEST_CASE("only the last minute counts, or as many intervals") {
  TopHistory history(1);
  for (int second = 0; second <= 120; ++second)
    history.add(second, Stacks{{1, second < 60 ? 0 : 7}}, true);
  CHECK(history.series(1) == Series(60, 7));
  CHECK(history.growth(1) == 0);
  CHECK(history.window() == "60 s");
  CHECK(TopHistory(10).window() == "10 min");
  TopHistory often(0.1);
  CHECK(often.window() == "60 s");
  for (int tenth = 0; tenth <= 100; ++tenth) often.add(tenth / 10.0, Stacks{{1, tenth}}, true);
  CHECK(often.series(1) == Series{0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100});
  CHECK(often.growth(1) == 600);
}

TEST_CASE("a stack that was not there held nothing, unless there was no room for its row") {
  TopHistory history(1);
  history.add(0, Stacks{{1, 10}}, true);
  history.add(1, Stacks{{1, 10}, {2, 20}}, false);
  history.add(2, Stacks{{1, 10}, {3, 30}}, true);
  CHECK(history.series(1) == Series{10, 10, 10});
  CHECK(history.series(2) == Series{0, 20, 0});
  CHECK(history.series(3) == Series{30});
  history.add(3, Stacks{{1, 10}}, false);
  CHECK(history.series(2).empty());  // it may hold anything
  CHECK(history.series(4).empty());
}

TEST_CASE("what holds nothing for the whole time is forgotten") {
  TopHistory history(1);
  history.add(0, Stacks{{1, 10}}, true);
  for (int second = 1; second <= 59; ++second) history.add(second, {}, true);
  CHECK(history.series(1).size() == 60);
  history.add(60, {}, true);
  CHECK(history.series(1).empty());
}
