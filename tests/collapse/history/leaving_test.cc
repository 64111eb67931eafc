// SPDX-License-Identifier: BSD-2-Clause
// Stacks and tracks whose places in the tables others take.
#include <doctest/doctest.h>

#include <span>
#include <string>
#include <vector>

#include "collapse/history/event_file.h"
#include "core/error.h"
#include "tests/collapse/history/history_run.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr RawStackId child{1}, estate{2};
constexpr TrackId of_child{1}, of_estate{2};
constexpr uint32_t child_process = 1, estate_process = 2, later_process = 3;

RawStack stack_of(uint32_t process, uint64_t address) {
  RawStack stack;
  stack.space = SpaceId{process};
  stack.pcs = {{address, false}, {0x1000, true}};
  return stack;
}

Look look(uint64_t second, std::initializer_list<std::pair<TrackId, std::vector<int64_t>>> rows) {
  Look look;
  look.time_ns = second * a_second;
  look.rows = rows;
  return look;
}

void name(Recording& recording) {
  recording.frames.resize(recording.stacks.size());
  for (size_t i = 1; i < recording.stacks.size(); ++i)
    for (const Pc& pc : recording.stacks[i].pcs) {
      Symbol symbol;
      symbol.function = "at " + std::to_string(pc.addr);
      recording.locations.push_back(
          {.space = recording.stacks[i].space, .pc = pc, .symbols = {symbol}});
      recording.frames[i].push_back(
          LocationId{static_cast<uint32_t>(recording.locations.size() - 1)});
    }
}

// A child's stack, whose place another process has once an estate has its figures.
class Run {
 public:
  Run() : writer_(begin()) {
    Recording& recording = history_.recording;
    for (const char* comm : {"child", "", "later"}) {
      Space& space = recording.spaces.emplace_back();
      space.comm = comm;
      space.pid = *comm != '\0' ? 100 + static_cast<uint32_t>(recording.spaces.size()) : 0;
    }
    recording.stacks.push_back(stack_of(child_process, 0x2000));
    history_.tracks.push_back({.stack = child, .space = SpaceId{child_process}, .group = "[anon]"});
    writer_.add(history_, look(1, {{of_child, {7}}}));
    events_of(1, BlockNumber{1}, child);

    recording.spaces[estate_process].comm = "child";
    recording.stacks.push_back(stack_of(estate_process, 0x2000));
    history_.tracks.push_back({.stack = estate, .space = SpaceId{estate_process}, .group = ""});
    writer_.leave(history_, {.stacks = {{child, estate}}, .tracks = {of_child}});

    recording.spaces.reset(child_process);
    recording.stacks[child.index] = {};
    history_.tracks[of_child.index] = {};
    writer_.add(history_, look(2, {}));
    writer_.add(history_, look(2, {{of_estate, {7}}}));

    recording.stacks[child.index] = stack_of(later_process, 0x3000);
    history_.tracks[of_child.index] = {
        .stack = child, .space = SpaceId{later_process}, .group = "[heap]"};
    writer_.add(history_, look(3, {{of_child, {5}}, {of_estate, {8}}}));
    events_of(3, BlockNumber{2}, child);
    const LiveBlock block{.block = BlockNumber{2}, .stack = child, .size = 7};
    writer_.add_checkpoint(history_, 4 * a_second, {&block, 1});
  }

  std::string finished() {
    name(history_.recording);
    writer_.finish(history_);
    return file_.bytes();
  }
  std::string unfinished() const { return file_.bytes(); }

 private:
  HistoryWriter begin() {
    history_.recording.types = {{"live", Unit::bytes}};
    return writer_of(file_.path(), history_);
  }
  void events_of(uint64_t second, BlockNumber block, RawStackId stack) {
    const Event event{.time_ns = second * a_second, .block = block, .stack = stack, .size = 7};
    writer_.add_events(history_, {&event, 1});
  }

  RecordingFile file_;
  History history_;
  HistoryWriter writer_;
};

std::vector<std::string> names_of(const Recording& recording, size_t stack) {
  std::vector<std::string> names;
  for (const LocationId location : recording.frames.at(stack))
    names.push_back(recording.locations[location.index].symbols.front().function);
  return names;
}

}  // namespace

TEST_CASE("what leaves keeps its stack, its process, its figures and its names") {
  RecordingState state;
  Run run;
  const History read = read_bytes(run.finished(), state);
  const Recording& recording = read.recording;
  REQUIRE(recording.stacks.size() == 4);
  CHECK(recording.stacks[1].pcs == stack_of(1, 0x2000).pcs);
  CHECK(recording.stacks[3].pcs == stack_of(3, 0x3000).pcs);
  CHECK(recording.spaces[child_process].comm == "child");
  CHECK(recording.spaces[child_process].pid != 0);

  REQUIRE(read.tracks.size() == 4);
  CHECK(read.tracks[1].group == "[anon]");
  CHECK(read.tracks[1].stack == RawStackId{1});
  CHECK(read.tracks[3].group == "[heap]");
  CHECK(read.tracks[3].stack == RawStackId{3});
  CHECK(read.tracks[3].space == SpaceId{later_process});

  REQUIRE(read.looks.size() == 4);
  CHECK(read.looks[0].rows == LookRows{{TrackId{1}, {7}}});
  CHECK(read.looks[1].rows == LookRows{{TrackId{1}, {0}}});
  CHECK(read.looks[2].rows == LookRows{{TrackId{2}, {7}}});
  CHECK(read.looks[3].rows == LookRows{{TrackId{2}, {8}}, {TrackId{3}, {5}}});

  REQUIRE(state.has_names);
  CHECK(names_of(recording, 1) == std::vector<std::string>{"at 8192", "at 4096"});
  CHECK(names_of(recording, 1) == names_of(recording, 2));
  CHECK(names_of(recording, 3) == std::vector<std::string>{"at 12288", "at 4096"});
}

TEST_CASE("events of what leaves name its stack") {
  struct Stacks : EventSink {
    void events(std::span<const Event> events) override {
      for (const Event& event : events) seen.push_back(event.stack.index);
    }
    void gap(const EventGap&) override {}
    void checkpoint(const CheckpointPart& part) override {
      for (const LiveBlock& block : part.blocks) live.push_back(block.stack.index);
    }
    std::vector<uint32_t> seen, live;
  };
  Run run;
  const std::string bytes = run.finished();
  RecordingState state;
  const History read = read_bytes(bytes, state);
  Stacks stacks;
  EventFile([&] { return Source::of_memory(bytes, "run.mfr"); }, read, state).read(stacks);
  CHECK(stacks.seen == std::vector<uint32_t>{1, 3});
  CHECK(stacks.live == std::vector<uint32_t>{3});
}

TEST_CASE("a run that was killed has the stacks of what had left") {
  RecordingState state;
  const Run run;
  const History read = read_bytes(run.unfinished(), state);
  REQUIRE(read.recording.stacks.size() == 4);
  CHECK(read.recording.stacks[1].pcs == stack_of(1, 0x2000).pcs);
  CHECK(!state.has_names);
}
