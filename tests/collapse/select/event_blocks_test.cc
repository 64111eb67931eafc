// SPDX-License-Identifier: BSD-2-Clause
// Selections of recordings in files.
#include "collapse/select/event_blocks.h"

#include <doctest/doctest.h>

#include <array>

#include "collapse/input.h"
#include "collapse/select/event_views.h"
#include "collapse/select/parse.h"
#include "core/error.h"
#include "tests/collapse/history/history_run.h"

using namespace memflame;  // NOLINT(google-build-using-namespace)

namespace {

constexpr uint64_t ms = 1'000'000;

Event allocation(uint64_t time_ms, uint64_t block, uint32_t stack, uint64_t size) {
  return {.kind = EventKind::allocation,
          .time_ns = time_ms * ms,
          .thread = ThreadId{1},
          .space = {},
          .block = static_cast<BlockNumber>(block),
          .stack = RawStackId{stack},
          .address = 4096 * block,
          .size = size};
}

Event free_of(uint64_t time_ms, uint64_t block, uint32_t stack = 0) {
  return {.kind = EventKind::free,
          .time_ns = time_ms * ms,
          .thread = ThreadId{1},
          .space = {},
          .block = static_cast<BlockNumber>(block),
          .stack = RawStackId{stack}};
}

// A look after a second, and these events before it.
void write(const RecordingFile& file, std::span<const Event> events, EventOptions options = {}) {
  MadeUpRun run;
  run.step();
  run.name();
  History history = run.history();
  history.threads.push_back({.space = SpaceId{1}, .tid = 812, .name = "server"});
  HistoryWriter writer = writer_of(file.path(), run.history(), {}, options);
  if (!events.empty()) writer.add_events(history, events);
  writer.add(history, run.last());
  writer.mark({.time_ns = 40 * ms, .name = "here"});
  writer.finish(history);
}

// Sizes are powers of two, so that a sum says which blocks it is made of.
const std::array some_events{allocation(10, 1, 1, 1), allocation(20, 2, 2, 2), free_of(30, 2, 3),
                             allocation(50, 3, 2, 4), allocation(60, 4, 1, 8), free_of(900, 4)};

// The totals of the columns.
std::vector<int64_t> totals(const RecordingFile& file, const std::string& where,
                            const HistoryRange& range = {}) {
  ReadOptions options;
  options.history = range;
  if (!where.empty()) add_where(options.selection, "--where", where);
  Source source = Source::open(file.path());
  const Profile profile = read_profile(source, "", options);
  std::vector<int64_t> sums;
  for (size_t i = 0; i < profile.types.size(); ++i) sums.push_back(profile.total(i));
  return sums;
}

using Sums = std::vector<int64_t>;

}  // namespace

TEST_CASE("blocks of a file, as often as they are asked for") {
  const RecordingFile file;
  write(file, some_events);
  Source source = Source::open(file.path());
  RecordingState state;
  const History history = read_history(source, state);
  REQUIRE(state.has_events);
  const EventFile events([&] { return source.again(); }, history, state);
  EventBlocks blocks(events, history);
  CHECK(blocks.facts().end_ns == history.looks.back().time_ns);
  CHECK(blocks.facts().threads.size() == 2);
  CHECK(blocks.facts().marks.size() == 1);
  CHECK(blocks.has_addresses());
  CHECK(blocks.has_free_stacks());
  for (int i = 0; i < 2; ++i) {
    uint64_t sum = 0;
    blocks.for_each_block([&](const Block& block, const Chain&) { sum += block.size; });
    CHECK(sum == 15);
  }
  CHECK(blocks.notes().empty());
}

TEST_CASE("selections and views of a file") {
  const RecordingFile file;
  write(file, some_events);
  CHECK(totals(file, "leaked") == Sums{5, 2, 5, 2});
  CHECK(totals(file, "not leaked") == Sums{0, 0, 10, 2});
  CHECK(totals(file, "allocated > 'here'") == Sums{4, 1, 12, 2});
  CHECK(totals(file, "live at peak") == Sums{5, 2, 13, 3});
  CHECK(totals(file, "thread = 'server' and address = 0x1000") == Sums{1, 1, 1, 1});
  CHECK(totals(file, "stack in (freed <= 30ms)") == Sums{4, 1, 6, 2});
  CHECK(totals(file, "free.depth > 0") == Sums{0, 0, 2, 1});
  CHECK(totals(file, "", {.view = HistoryView::leaked}) == Sums{5, 2});
  CHECK(totals(file, "", {.view = HistoryView::peak}) == Sums{13, 3});
  CHECK(totals(file, "", {.view = HistoryView::churn}) == Sums{10, 2});
  CHECK(totals(file, "", {.view = HistoryView::transient}) == Sums{10, 2});
  CHECK(totals(file, "", {.at_ns = 55 * ms}) == Sums{5, 2, 7, 3});
  CHECK(totals(file, "size > 2", {.from_ns = 20 * ms, .until_ns = 60 * ms}) == Sums{12, 2, 12, 2});
}

TEST_CASE("a block that a failed realloc left alive lived all the time, also for the peak") {
  const RecordingFile file;
  Event restored = free_of(40, 1);
  restored.kind = EventKind::restore;
  Event other = allocation(35, 3, 2, 8);
  other.thread = {};
  const std::array events{allocation(10, 1, 1, 10), allocation(20, 2, 2, 5), free_of(30, 1), other,
                          restored};
  write(file, events);
  CHECK(totals(file, "", {.view = HistoryView::peak}) == Sums{23, 3});
  CHECK(totals(file, "allocated = peak") == Sums{8, 1, 8, 1});
}

TEST_CASE("culled blocks are counted: in groups, and in a note") {
  const RecordingFile file;
  write(file, some_events, {.cull_ns = 100 * ms});
  CHECK(totals(file, "size >= 0") == Sums{5, 2, 13, 3});
  CHECK(totals(file, "group.count = 2") == Sums{5, 2, 13, 3});
  CHECK(totals(file, "group.leaked_share = 50%") == Sums{5, 2, 13, 3});
  CHECK_THROWS_WITH(totals(file, "", {.view = HistoryView::transient}),
                    doctest::Contains("--cull"));
  Source source = Source::open(file.path());
  RecordingState state;
  const History history = read_history(source, state);
  const EventFile events([&] { return source.again(); }, history, state);
  CHECK(events.culled().below_ns == 100 * ms);
  CHECK(events.culled().stacks[2] == CulledStack{RawStackId{2}, 1, 2});
  EventBlocks blocks(events, history);
  blocks.for_each_block([](const Block& block, const Chain&) { CHECK_FALSE(block.transient); });
  REQUIRE(blocks.notes().size() == 1);
  CHECK(blocks.notes()[0].starts_with(
      "culled: 1 block, 2 B together, whose chains lived shorter than 100 ms (--cull)"));
}

TEST_CASE("names of functions select blocks") {
  const RecordingFile file;
  write(file, some_events);
  Source source = Source::open(file.path());
  const History history = read_history(source);
  const std::string leaf = history.recording.locations[history.recording.frames[2].front().index]
                               .symbols.back()
                               .function;
  const Sums with = totals(file, "function = '" + leaf + "'");
  const Sums without = totals(file, "function != '" + leaf + "'");
  REQUIRE(with.size() == 4);
  CHECK(with[2] + without[2] == 15);
  CHECK((with[2] & 6) == 6);
}

TEST_CASE("what was not recorded is noticed") {
  const RecordingFile file;
  std::array events = some_events;
  for (Event& event : events) {
    event.address = 0;
    if (event.kind == EventKind::free) event.stack = {};
  }
  write(file, events);
  CHECK_THROWS_WITH(totals(file, "address > 1"), doctest::Contains("--no-addresses"));
  CHECK_THROWS_WITH(totals(file, "free.function ~ 'x'"), doctest::Contains("no stacks of frees"));
  CHECK(totals(file, "leaked") == Sums{5, 2, 5, 2});
}

TEST_CASE("a recording of sums has no blocks to select") {
  const RecordingFile file;
  write(file, {});
  CHECK_THROWS_WITH(totals(file, "leaked"), doctest::Contains("--where selects single blocks"));
  CHECK_THROWS_WITH(totals(file, "", {.view = HistoryView::peak}),
                    doctest::Contains("record --detail events"));
  CHECK(totals(file, "").size() > 2);
}

TEST_CASE("events are read several times, so they have to be in a file") {
  const RecordingFile file;
  write(file, some_events);
  ReadOptions options;
  add_where(options.selection, "--where", "leaked");
  Source source = Source::of_memory(file.bytes(), "standard input");
  CHECK_THROWS_WITH(read_profile(source, "", options), doctest::Contains("must be a file"));
}
