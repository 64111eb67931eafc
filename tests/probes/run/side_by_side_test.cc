// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/side_by_side.h"

#include <doctest/doctest.h>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::vector<std::string> names_of(const std::vector<ValueType>& types) {
  std::vector<std::string> names;
  names.reserve(types.size());
  for (const ValueType& type : types) names.push_back(type.name);
  return names;
}

std::vector<ValueType> sampled(const std::string& name) {
  ValueType type{.name = name, .unit = Unit::bytes};
  type.variance = 1;
  return {type, {.name = name + " variance", .unit = Unit::variance}};
}

}  // namespace

TEST_CASE("columns of blocks keep their names, others begin with their probe's") {
  const std::vector<ProbeTypes> probes{{"alloc", true, sampled("live")},
                                       {"fault", false, sampled("gained")}};
  const std::vector<ValueType> types = side_by_side(probes);
  CHECK(names_of(types) ==
        std::vector<std::string>{"live", "live variance", "fault-gained", "fault-gained variance"});
  CHECK(types[0].variance == 1);
  CHECK(types[1].variance == no_column);
  CHECK(types[2].variance == 3);
  CHECK(names_of(side_by_side({probes[1]})) ==
        std::vector<std::string>{"gained", "gained variance"});
}

TEST_CASE("a stack that two probes saw is one row with the figures of both") {
  const RawStackId both{1}, second_only{2};
  Recording recording;
  recording.meta.notes = {"of the run"};
  SideBySide columns(recording);
  recording.types = {{"live", Unit::bytes}, {"live-count", Unit::count}};
  recording.shown = 1;
  recording.sums = {{both, "", {5, 1}, 1}, {both, "", {7, 2}, 2}};
  recording.meta.sampling = "1 in 8";
  recording.meta.reconciliation.push_back({"VmRSS growth", 1, 2});
  recording.meta.notes.emplace_back("seen");
  columns.take("alloc", true);
  CHECK(recording.sums.empty());
  CHECK(recording.types.empty());

  recording.types = {{"total", Unit::bytes}};
  recording.shown = 0;
  recording.sums = {{both, "", {11}, 3}, {second_only, "", {13}, 4}, {both, "[anon]", {17}, 5}};
  recording.meta.reconciliation.push_back({"VmSize growth", 3, 4});
  columns.take("mmap", false);
  columns.finish();

  CHECK(names_of(recording.types) == std::vector<std::string>{"live", "live-count", "mmap-total"});
  CHECK(recording.shown == 1);
  CHECK(recording.meta.sampling == "alloc: 1 in 8");
  CHECK(recording.meta.notes == std::vector<std::string>{"of the run", "alloc: seen"});
  CHECK(recording.meta.reconciliation[0].name == "alloc: VmRSS growth");
  CHECK(recording.meta.reconciliation[1].name == "mmap: VmSize growth");
  REQUIRE(recording.sums.size() == 3);
  using Values = std::vector<int64_t>;
  CHECK(recording.sums[0].values == Values{12, 3, 11});
  CHECK(recording.sums[0].events == 6);
  CHECK(recording.sums[1].values == Values{0, 0, 13});
  CHECK(recording.sums[1].stack == second_only);
  CHECK(recording.sums[2].values == Values{0, 0, 17});
  CHECK(recording.sums[2].group == "[anon]");
}
