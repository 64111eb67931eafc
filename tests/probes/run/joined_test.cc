// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/joined.h"

#include <doctest/doctest.h>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

// Two spaces, the second forked from the first, with a stack of native code and a script's
// function.
Recording seen_in(const std::string& file, int64_t bytes) {
  Recording recording;
  recording.types = {{"live", Unit::bytes}, {"live-count", Unit::count}};
  recording.modules.emplace_back().path = file;
  recording.scripts.emplace_back().function = "script of " + file;
  for (const uint32_t pid : {1U, 2U}) {
    Space& space = recording.spaces.emplace_back();
    space.pid = pid;
    space.comm = file;
  }
  recording.spaces[2].forked_from = SpaceId{1};
  Mapping& mapping = recording.spaces[2].mappings.emplace_back();
  mapping.start = 1;
  mapping.end = 9;
  mapping.module = ModuleId{1};
  RawStack& stack = recording.stacks.emplace_back();
  stack.space = SpaceId{2};
  stack.pcs = {Pc{.addr = 5}, script_pc(1, 7), script_pc(0, 7)};
  Aggregate& sum = recording.sums.emplace_back();
  sum.stack = RawStackId{1};
  sum.values = {bytes, 1};
  sum.events = 1;
  recording.losses.add(Loss::ring_full, 1);
  return recording;
}

}  // namespace

TEST_CASE("what the other collector saw keeps its processes, files and functions") {
  Recording joined = seen_in("a", 10);
  join_recording(joined, seen_in("b", 20));
  REQUIRE(joined.spaces.size() == 5);
  CHECK(joined.spaces[4].comm == "b");
  CHECK(joined.spaces[3].forked_from == SpaceId{});
  CHECK(joined.spaces[4].forked_from == SpaceId{3});
  CHECK(joined.modules[joined.spaces[4].mappings[0].module.index].path == "b");
  REQUIRE(joined.sums.size() == 2);
  CHECK(joined.sums[1].values == std::vector<int64_t>{20, 1});
  const RawStack& stack = joined.stacks[joined.sums[1].stack.index];
  CHECK(stack.space == SpaceId{4});
  CHECK(stack.pcs[0].addr == 5);
  CHECK(joined.scripts[script_index(stack.pcs[1])].function == "script of b");
  CHECK(script_place(stack.pcs[1]) == 7);
  CHECK(script_index(stack.pcs[2]) == 0);
  CHECK(joined.losses[Loss::ring_full].events == 2);
}

TEST_CASE("columns are told by their names, and those that only one has are 0") {
  Recording joined = seen_in("a", 10), other = seen_in("b", 20);
  other.types = {{"other", Unit::count}, {"live", Unit::bytes}};
  join_recording(joined, other);
  CHECK(joined.sums[1].values == std::vector<int64_t>{1, 0});
}

TEST_CASE("what is compared with the OS is added up, or not known") {
  Recording joined, other;
  joined.meta.reconciliation = {{.name = "VmRSS", .captured = 1, .os = 10},
                                {.name = "heap", .captured = 1, .os = 10}};
  other.meta.reconciliation = {{.name = "VmRSS", .captured = 2, .os = 20},
                               {.name = "heap", .captured = 2, .os = std::nullopt}};
  other.meta.notes = {"late"};
  join_recording(joined, other);
  REQUIRE(joined.meta.reconciliation.size() == 2);
  CHECK(joined.meta.reconciliation[0].captured == 3);
  CHECK(joined.meta.reconciliation[0].os == 30);
  CHECK_FALSE(joined.meta.reconciliation[1].os.has_value());
  CHECK(joined.meta.notes == std::vector<std::string>{"by the kernel's probes: late"});
}
