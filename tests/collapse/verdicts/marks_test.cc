// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/verdicts/marks.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "collapse/fold/fold.h"
#include "tests/collapse/verdicts/scenarios.h"

using namespace memflame;

namespace {

// A recording whose stack n is called by main, in address space 1 or 2.
struct Program {
  Program() {
    recording.types = block_types();
    recording.spaces.resize(3);
    recording.spaces[1].comm = recording.spaces[2].comm = "server";
    main = place("main");
  }

  LocationId place(const std::string& function) {
    recording.locations.emplace_back().symbols = {
        {.function = function, .file = "a.cc", .line = 1, .start_line = 1, .module = "server"}};
    return LocationId{static_cast<uint32_t>(recording.locations.size() - 1)};
  }

  RawStack raw(uint64_t address, SpaceId space) const {
    RawStack stack;
    stack.space = space;
    stack.pcs = {{address, false}, {4096, true}};
    return stack;
  }

  void add(const std::string& function, uint64_t address, SpaceId space, int64_t bytes) {
    recording.stacks.push_back(raw(address, space));
    recording.frames.resize(recording.stacks.size());
    recording.frames.back() = {place(function), main};
    const RawStackId stack{static_cast<uint32_t>(recording.stacks.size() - 1)};
    recording.sums.push_back({stack, "", {bytes, bytes / 1024, bytes, bytes / 1024}, 1});
  }

  std::vector<StackMark> marks(const JudgedRun& run) {
    std::vector<StackId> stacks;
    profile = fold(recording, {.only_values = true}, &stacks);
    return marks_of(run, recording, profile, stacks);
  }

  std::string leaf(const StackMark& mark) const {
    return std::string(profile.strings[profile.frames[profile.stacks[mark.stack].frame].function]);
  }

  Recording recording;
  LocationId main;
  Profile profile;
};

}  // namespace

TEST_CASE("the leak of a server is the mark to be drawn, and its cache is named") {
  std::vector<Track> tracks;
  Ledger ledger(block_types());
  const Server server =
      run_server(1, {.seconds = 60}, [&](const Look& look, const Simulation& now) {
        ledger.add(look, now.tracks());
        tracks = now.tracks();
      });
  Program program;
  JudgedRun run{ledger, tracks, {RawStack{}}};
  for (uint32_t i = 1; i < run.tracks.size(); ++i) {
    run.tracks[i].stack = RawStackId{i};
    run.tracks[i].space = SpaceId{1};
    run.tracks[i].group.clear();
    run.stacks.push_back(program.raw(10000 + i, SpaceId{1}));
  }
  // In another order than the looks', and with a stack that they do not know.
  program.add("elsewhere", 9, SpaceId{1}, 1 << 20);
  program.add("load", 10000 + server.cache.index, SpaceId{1}, 20 << 20);
  program.add("begin", 10000 + server.leak.index, SpaceId{1}, 1 << 20);
  const std::vector<StackMark> marks = program.marks(run);
  REQUIRE(marks.size() == 2);
  CHECK(program.leaf(marks[0]) == "begin");
  CHECK(marks[0].label == "begin");
  CHECK(marks[0].kind == VerdictKind::leak);
  CHECK(marks[0].is_drawn);
  CHECK(marks[0].sentence.starts_with("leak: "));
  CHECK(marks[0].bytes_per_second == doctest::Approx(0.02 * 2000 * 1024).epsilon(0.6));
  CHECK(program.leaf(marks[1]) == "load");
  CHECK(marks[1].kind == VerdictKind::cache);
  CHECK(!marks[1].is_drawn);

  // A stack without a value in the picture has no mark.
  program.recording.sums.back().values = {0, 0, 0, 0};
  CHECK(program.marks(run).size() == 1);
}

TEST_CASE("what two processes of one name leave is one mark, and setting up is none") {
  Simulation simulation(1);
  Ledger ledger(block_types());
  const TrackId first = simulation.add_track(SpaceId{1}), second = simulation.add_track(SpaceId{2});
  const TrackId kept = simulation.add_track(SpaceId{1});
  for (int i = 0; i < 20; ++i) simulation.allocate(0.1, kept, 1024);
  for (int second_of_run = 0; second_of_run < 5; ++second_of_run) {
    for (int i = 0; i < 40; ++i)
      for (const TrackId track : {first, second})
        simulation.allocate(second_of_run + 0.1 + 0.01 * i, track, 1024,
                            i % 10 == 0 ? Simulation::forever : 0.2);
    ledger.add(simulation.look(second_of_run + 1), simulation.tracks());
  }
  ledger.add(simulation.look(5.5, {SpaceId{1}, SpaceId{2}}), simulation.tracks());
  ledger.end(5'500'000'000);
  Program program;
  JudgedRun run{ledger, simulation.tracks(), {RawStack{}}};
  for (uint32_t i = 1; i < run.tracks.size(); ++i) {
    run.tracks[i].stack = RawStackId{i};
    run.stacks.push_back(program.raw(7000 + i, run.tracks[i].space));
  }
  program.add("forgets", 7000 + first.index, SpaceId{1}, 20480);
  program.add("forgets", 7000 + second.index, SpaceId{2}, 20480);
  program.add("prepares", 7000 + kept.index, SpaceId{1}, 20480);
  const std::vector<StackMark> marks = program.marks(run);
  REQUIRE(marks.size() == 2);
  CHECK(program.leaf(marks[0]) == "forgets");
  CHECK(marks[0].is_drawn);
  CHECK(marks[0].sentence.find("left 40 blocks") != std::string::npos);
  CHECK(program.leaf(marks[1]) == "prepares");
  CHECK(!marks[1].is_drawn);
}
