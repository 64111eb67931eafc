// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/report/report_bins.h"

#include <doctest/doctest.h>

#include <random>

#include "collapse/report/report_cells.h"

using namespace memflame;  // NOLINT(google-build-using-namespace)

namespace {

using Times = std::vector<uint64_t>;

}  // namespace

TEST_CASE("even edges are whole microseconds, exact ones are where they are") {
  CHECK(ReportBins::even(10'000, 4, {}).edges() == Times{0, 2000, 5000, 7000, 10'000});
  // Two of four bins end at exact times, the other two are halves of the run.
  CHECK(ReportBins::even(10'000, 4, Times{1234, 6789}).edges() ==
        Times{0, 1234, 5000, 6789, 10'000});
  // Ends of the run, times behind it, and the same time twice take no room.
  CHECK(ReportBins::even(10'000, 4, Times{0, 10'000, 20'000, 3, 3}).edges() ==
        Times{0, 3, 3000, 6000, 10'000});
  // The first ones count if there are too many.
  CHECK(ReportBins::even(10'000, 4, Times{9, 8, 7}).edges() == Times{0, 8, 9, 5000, 10'000});
  // A run that is shorter than its bins.
  CHECK(ReportBins::even(1500, 256, {}).edges() == Times{0, 1000, 1500});
  CHECK(ReportBins::even(1, 256, {}).edges() == Times{0, 1});
}

TEST_CASE("lasting edges stay while a run grows") {
  constexpr uint64_t second = 1'000'000'000;
  const auto at = [](uint64_t end_ns) {
    return ReportBins::even(end_ns, 256, Times{end_ns / 3}, ReportBins::Steps::lasting).edges();
  };
  CHECK(ReportBins::even(4 * second, 8, {}, ReportBins::Steps::lasting).edges() ==
        Times{0, 2 * second, 4 * second});
  for (uint64_t end_ns : {uint64_t{1}, uint64_t{1000}, second / 7, second, 61 * second + 5,
                          100'000 * second, uint64_t{1} << 62U}) {
    CAPTURE(end_ns);
    const Times edges = at(end_ns), later = at(end_ns + end_ns / 100 + 1);
    CHECK(edges.size() <= 257);
    CHECK(edges.back() == end_ns);
    if (end_ns >= second) CHECK(edges.size() > 64);
    // All but the end, the exact time and, when the distance doubles, every second one.
    const auto stay = std::count_if(edges.begin(), edges.end(), [&](uint64_t edge) {
      return std::binary_search(later.begin(), later.end(), edge);
    });
    CHECK(static_cast<size_t>(stay) >= (edges.size() - 2) / 2);
  }
}

TEST_CASE("a bin contains its end, the first one also its beginning") {
  const ReportBins bins = ReportBins::even(3000, 3, {});
  CHECK(bins.size() == 3);
  CHECK(bins.bin_of(0) == 0);
  CHECK(bins.bin_of(1000) == 0);
  CHECK(bins.bin_of(1001) == 1);
  CHECK(bins.bin_of(2000) == 1);
  CHECK(bins.bin_of(3000) == 2);
  CHECK(bins.has(1000));
  CHECK_FALSE(bins.has(1001));
  CHECK(bins.nearest(1499) == 1);
  CHECK(bins.nearest(1501) == 2);
  CHECK(bins.nearest(9999) == 3);
  CHECK(bins.last_until(1999) == 1);
  CHECK(bins.last_until(2000) == 2);
  CHECK(bins.first_from(1001) == 2);
  CHECK(bins.first_from(9999) == 3);
}

TEST_CASE("edges among looks") {
  const Times looks{10, 20, 35, 50};
  CHECK(ReportBins::among(looks, 4, {}).edges() == Times{0, 10, 20, 35, 50});
  Times many;
  for (uint64_t i = 1; i <= 1000; ++i) many.push_back(i * 1'000'000 + i % 7);
  const ReportBins bins = ReportBins::among(many, 32, Times{many[4], many[5]});
  CHECK(bins.size() <= 32);
  CHECK(bins.size() >= 28);
  CHECK(bins.has(many[4]));
  CHECK(bins.has(many[5]));
  for (size_t i = 1; i < bins.edges().size(); ++i)
    CHECK(std::binary_search(many.begin(), many.end(), bins.edges()[i]));
  CHECK(bins.edges().back() == many.back());
}

TEST_CASE("every second edge is left out, but no exact one") {
  ReportBins bins = ReportBins::even(100'000, 12, Times{33'333, 34'444});
  const Times before = bins.edges();
  const std::vector<uint32_t> places = bins.halve();
  REQUIRE(places.size() + 1 == before.size());
  CHECK(bins.edges() == Times{0, 20'000, 33'333, 34'444, 50'000, 70'000, 90'000, 100'000});
  // Each old bin lies within its new one.
  for (size_t i = 0; i < places.size(); ++i) {
    CHECK(bins.edges()[places[i]] <= before[i]);
    CHECK(bins.edges()[places[i] + 1] >= before[i + 1]);
  }
  while (!bins.halve().empty()) {
  }
  CHECK(bins.edges() == Times{0, 33'333, 34'444, 100'000});
}

TEST_CASE("cells of bins that become one add up") {
  struct Sum {
    int value = 0;
    void add(const Sum& other) { value += other.value; }
  };
  using Cells = ReportCells<Sum>;
  Cells cells;
  cells.at(7, 2, 3).value += 1;
  cells.at(7, 3, 3).value += 10;
  cells.at(7, 3, 3).value += 100;
  cells.at(2, 0, Cells::never).value += 1000;
  CHECK(cells.size() == 3);
  cells.move(std::vector<uint32_t>{0, 0, 1, 1});
  CHECK(cells.size() == 2);
  const std::vector<Cells::Cell> sorted = cells.take_sorted();
  CHECK(sorted[0].owner == 2);
  CHECK(sorted[0].freed == Cells::never);
  CHECK(sorted[1].born == 1);
  CHECK(sorted[1].freed == 1);
  CHECK(sorted[1].sums.value == 111);
}
