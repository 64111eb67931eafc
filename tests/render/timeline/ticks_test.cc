// SPDX-License-Identifier: BSD-2-Clause
#include "render/timeline/ticks.h"

#include <doctest/doctest.h>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

using Labels = std::vector<std::string>;

Labels labels(const std::vector<Tick>& ticks) {
  Labels all;
  for (const Tick& tick : ticks) all.push_back(tick.label);
  return all;
}

Labels values(double high, const ValueType& type, size_t most = 4) {
  return labels(value_ticks(0, high, value_step(high, type, most), type));
}

}  // namespace

TEST_CASE("times are round") {
  CHECK(labels(time_ticks({0, 0.5}, 5)) ==
        Labels{"0 s", "0.1 s", "0.2 s", "0.3 s", "0.4 s", "0.5 s"});
  CHECK(labels(time_ticks({0, 100}, 5)) == Labels{"0 s", "20 s", "40 s", "60 s", "80 s", "100 s"});
  CHECK(labels(time_ticks({0, 120}, 4)) == Labels{"0 s", "30 s", "60 s", "90 s", "120 s"});
  CHECK(labels(time_ticks({100, 400}, 3)) == Labels{"2 min", "4 min", "6 min"});
  CHECK(labels(time_ticks({0, 86400}, 4)) == Labels{"0 s", "6 h", "12 h", "18 h", "24 h"});
  CHECK(labels(time_ticks({0, 30 * 86400.0}, 3)) == Labels{"0 s", "10 d", "20 d", "30 d"});
  CHECK(time_ticks({0, 0}, 4).empty());
  CHECK(time_ticks({0, 1e300}, 4).size() < 10);
}

TEST_CASE("values are round in their unit") {
  constexpr double mib = 1024 * 1024;
  CHECK(values(100, {"live", Unit::bytes}) == Labels{"0", "50 B", "100 B"});
  CHECK(values(18 * mib, {"live", Unit::bytes}) == Labels{"0", "5 MiB", "10 MiB", "15 MiB"});
  CHECK(values(2500 * mib, {"live", Unit::bytes}) == Labels{"0", "1 GiB", "2 GiB"});
  CHECK(values(3, {"live", Unit::bytes}, 10) == Labels{"0", "1 B", "2 B", "3 B"});
  CHECK(values(45'000, {"calls", Unit::count}) == Labels{"0", "20 k", "40 k"});
  CHECK(values(4'500, {"calls", Unit::count}) == Labels{"0", "2000", "4000"});
  ValueType percent{"pressure", Unit::count};
  percent.decimals = 2;
  CHECK(values(250, percent) == Labels{"0", "1", "2"});
  CHECK(values(2e6, {"wait", Unit::nanoseconds}) ==
        Labels{"0", "500 µs", "1 ms", "1.5 ms", "2 ms"});
  CHECK(labels(value_ticks(-10, 10, 10, {"grown", Unit::bytes})) == Labels{"-10 B", "0", "10 B"});
  CHECK(values(0, {"live", Unit::bytes}) == Labels{"0"});
  CHECK(values(9.2e18, {"live", Unit::bytes}).size() < 7);
}

TEST_CASE("times in words") {
  CHECK(time_text(0) == "0 s");
  CHECK(time_text(1.254) == "1.25 s");
  CHECK(time_text(83) == "83 s");
  CHECK(time_text(725) == "12 min 5 s");
  CHECK(time_text(7199.9) == "120 min");
  CHECK(time_text(18'720) == "5 h 12 min");
  CHECK(time_text(3 * 86400.0 + 4 * 3600) == "3 d 4 h");
}
