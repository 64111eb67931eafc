// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/estates.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr uint64_t s = 1'000'000'000;
constexpr uint64_t key_bit = uint64_t{1} << 63;
constexpr SpaceId parent{1};

// This process, and children that are forked from it and end at once.
class Forking {
 public:
  Forking() : began_ns_(monotonic_ns()) { processes.adopt(parent, ::getpid()); }

  SpaceId child() {
    bpf::space_record record{};
    record.space = ++last_;
    record.parent_space = parent.index;
    record.tgid = (1U << 30) + last_;  // no process
    record.reason = bpf::space_fork;
    record.time = began_ns_ + last_ * s;
    processes.begin(record);
    processes.take(record);
    record.reason = bpf::space_end;
    processes.take(record);
    return SpaceId{record.space};
  }

  // A stack of the child: a function of this program, with one live block.
  void allocate(SpaceId space, uint64_t key, uint64_t address = here()) {
    RawStack stack;
    stack.space = space;
    stack.time_ns = began_ns_ + space.index * s;
    stack.pcs = {{address, false}};
    log.keep(key, std::move(stack));
  }

  Estates::Taken take_over(std::span<const SpaceId> ended) {
    return estates.take_over(ended, log, processes, [this] { return SpaceId{++last_}; });
  }

  static uint64_t here() { return reinterpret_cast<uint64_t>(&here); }

  Processes processes{Target{}, true, Processes::Log::none};
  StackLog log;
  Estates estates{2};

 private:
  uint64_t began_ns_;
  uint32_t last_ = parent.index;
};

uint64_t target_of(const Estates::Taken& taken, uint64_t key) {
  const auto move = std::ranges::find(taken.moves, key, &StackMove::from);
  REQUIRE(move != taken.moves.end());
  return move->to;
}

}  // namespace

TEST_CASE("only the processes that ended last are kept apart") {
  Forking run;
  std::vector<SpaceId> children;
  for (int i = 0; i < 110; ++i) children.push_back(run.child());
  // The log of the last ones is not complete yet.
  const std::vector<SpaceId> due = run.estates.due(run.processes.spaces());
  REQUIRE(due.size() >= 100);
  CHECK(due.size() < children.size() - 2);
  CHECK(std::equal(due.begin(), due.end(), children.begin()));
  CHECK(run.estates.due(run.processes.spaces()).empty());
}

TEST_CASE("children with the same stack leave it to one space that stands for them") {
  Forking run;
  const std::vector<SpaceId> children{run.child(), run.child()};
  run.allocate(children[0], key_bit | 1);
  run.allocate(children[1], key_bit | 2);
  run.allocate(children[1], key_bit | 3, Forking::here() + 1);
  const Estates::Taken taken = run.take_over(children);
  CHECK(taken.given_back == children);
  const uint64_t same = target_of(taken, key_bit | 1);
  CHECK(same == target_of(taken, key_bit | 2));
  CHECK(same != target_of(taken, key_bit | 3));

  const RawStack estate = run.log.stack_of(same);
  Spaces& spaces = run.processes.spaces();
  CHECK(spaces.has_ended(estate.space));
  CHECK(run.processes.os().has_ended(estate.space));
  CHECK(spaces.pid_of(estate.space) == 0);
  CHECK(spaces.name_of(estate.space) == spaces.name_of(children[0]));
  // Its code is there, also after the children's is gone.
  spaces.give_back(taken.given_back);
  const std::vector<Mapping>& code = spaces.code_of(estate.space, estate.time_ns);
  REQUIRE(code.size() == 1);
  CHECK(code[0].start <= Forking::here());
  CHECK(Forking::here() < code[0].end);

  // The next one finds what is there.
  const SpaceId later = run.child();
  run.allocate(later, key_bit | 4);
  CHECK(target_of(run.take_over({&later, 1}), key_bit | 4) == same);
}

TEST_CASE("figures go with the stacks, and blocks that live find theirs") {
  Forking run;
  const SpaceId child = run.child();
  constexpr uint64_t announced = key_bit | 1, copy = uint64_t{3} << 62 | 2;
  run.allocate(child, announced);
  RawStack copied;
  copied.space = child;
  copied.time_ns = run.log.stack_of(announced).time_ns;
  copied.pcs = {{Forking::here(), false}};
  run.log.copied(copy, std::move(copied));
  run.log.add(0, announced, {10, 1, 30, 3});
  run.log.add(0, copy, {0, 0, 5, 1});

  Estates::Taken taken = run.take_over({&child, 1});
  const uint64_t to = target_of(taken, announced);
  int events = 0;
  run.log.move(taken.moves, true, [&](uint32_t, StackLog::Values&) { ++events; });
  CHECK(events == 1);
  StackLog::Values sum{};
  run.log.for_each_amount(0, [&](uint64_t key, const StackLog::Values& values) {
    CHECK(key == to);
    sum = values;
  });
  CHECK(sum == StackLog::Values{10, 1, 35, 4});
  CHECK(run.log.known_as(announced) == to);  // its block lives
  CHECK(run.log.find(copy) == nullptr);
}

TEST_CASE("without blocks, nothing is kept of a stack whose figures have moved") {
  Forking run;
  const SpaceId child = run.child();
  run.allocate(child, key_bit | 1);
  run.log.add(0, key_bit | 1, {0, 7, 0, 0});
  const Estates::Taken taken = run.take_over({&child, 1});
  run.log.move(taken.moves, false, [](uint32_t, StackLog::Values&) {});
  CHECK(run.log.known_as(key_bit | 1) == (key_bit | 1));
  CHECK(run.log.find(key_bit | 1) == nullptr);
}
