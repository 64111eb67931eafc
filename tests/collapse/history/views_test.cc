// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/history/views.h"

#include <doctest/doctest.h>

#include <map>

#include "collapse/input.h"
#include "core/error.h"
#include "tests/collapse/history/history_run.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

constexpr uint64_t s = a_second;

// Two stacks. The first grows by 100 bytes a second, the second has blocks from 1 s to 3 s.
History small_run() {
  History history;
  Recording& recording = history.recording;
  recording.types = {{"live", Unit::bytes},
                     {"live-count", Unit::count},
                     {"total", Unit::bytes},
                     {"total-count", Unit::count}};
  recording.meta.reconciliation = {{.name = "VmRSS growth", .captured = 1, .os = 1}};
  recording.spaces.emplace_back().comm = "server";
  for (uint32_t i = 1; i <= 2; ++i) {
    recording.stacks.emplace_back().space = SpaceId{1};
    recording.stacks.back().pcs = {{uint64_t{0x1000} * i, false}, {0x5000, true}};
    history.tracks.push_back({.stack = RawStackId{i}, .space = SpaceId{1}, .group = {}});
  }
  const auto look = [&](uint64_t time, LookRows rows) -> Look& {
    Look& made = history.looks.emplace_back();
    made.time_ns = time;
    made.rows = std::move(rows);
    return made;
  };
  look(s, {{TrackId{1}, {100, 1, 100, 1}}, {TrackId{2}, {50, 5, 50, 5}}});
  look(2 * s, {{TrackId{1}, {200, 2, 200, 2}}});
  look(3 * s, {{TrackId{1}, {300, 3, 300, 3}}, {TrackId{2}, {0, 0, 50, 5}}});
  Look& last = look(4 * s, {{TrackId{1}, {400, 4, 400, 4}}});
  last.stretches = {0, 2 * s, 3 * s};
  last.cells = {{TrackId{1}, 0, 200, 2, 2}, {TrackId{1}, 1, 100, 1, 1}, {TrackId{1}, 2, 100, 1, 1}};
  return history;
}

// The shown figure of each stack.
std::map<uint32_t, int64_t> shown(const Recording& recording) {
  std::map<uint32_t, int64_t> figures;
  for (const Aggregate& sum : recording.sums)
    if (const int64_t value = sum.values[recording.shown]; value != 0)
      figures[sum.stack.index] += value;
  return figures;
}
using Shown = std::map<uint32_t, int64_t>;

std::string refused(const History& history, const HistoryRange& range) {
  try {
    recording_at(history, range);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("the figures of an instant are those of the last look until then") {
  const History run = small_run();
  CHECK(shown(recording_at(run, {.at_ns = s})) == Shown{{1, 100}, {2, 50}});
  CHECK(shown(recording_at(run, {.at_ns = 2 * s + s / 2})) == Shown{{1, 200}, {2, 50}});
  CHECK(shown(recording_at(run, {})) == Shown{{1, 400}});
  CHECK(shown(recording_at(run, {.view = HistoryView::total})) == Shown{{1, 400}, {2, 50}});
  CHECK(shown(recording_at(run, {.at_ns = 3600 * s})) == Shown{{1, 400}});
  const Recording then = recording_at(run, {.at_ns = 2 * s + s / 2});
  CHECK(then.meta.notes == std::vector<std::string>{"figures at 2 s, the last look until 2.5 s"});
  CHECK(then.meta.reconciliation.empty());
  CHECK(recording_at(run, {}).meta.reconciliation.size() == 1);
  CHECK(refused(run, {.at_ns = s / 2}) == "there is no look until 0.5 s: the first one is at 1 s");
}

TEST_CASE("a stretch of time shows what changed in it") {
  const History run = small_run();
  CHECK(shown(recording_at(run, {.from_ns = s, .until_ns = 3 * s})) == Shown{{1, 200}, {2, -50}});
  CHECK(shown(recording_at(run, {.from_ns = 0, .until_ns = 2 * s})) == Shown{{1, 200}, {2, 50}});
  CHECK(shown(recording_at(run, {.from_ns = 0, .until_ns = 3 * s, .view = HistoryView::total})) ==
        Shown{{1, 300}, {2, 50}});
  CHECK(shown(recording_at(run, {.view = HistoryView::growth})) == Shown{{1, 400}});
  const Recording stretch = recording_at(run, {.from_ns = s, .until_ns = 3 * s + 1});
  CHECK(stretch.meta.notes == std::vector<std::string>{"what changed from 1 s to 3 s"});
  CHECK(stretch.meta.seconds == 2);
  CHECK(refused(run, {.from_ns = 5 * s, .until_ns = 6 * s})
            .find("there is no look from 5 s to 6 s") == 0);
  CHECK(refused(run, {.from_ns = 2 * s, .until_ns = s}).find("must be before") !=
        std::string::npos);
}

TEST_CASE("the time of day is that at which the figures begin") {
  constexpr int64_t began = 1'700'000'000'000'000'000;
  History run = small_run();
  CHECK(recording_at(run, {.from_ns = s, .until_ns = 3 * s}).meta.began_ns == 0);
  run.recording.meta.began_ns = began;
  CHECK(recording_at(run, {}).meta.began_ns == began);
  CHECK(recording_at(run, {.at_ns = 2 * s}).meta.began_ns == began);
  CHECK(recording_at(run, {.from_ns = s, .until_ns = 3 * s}).meta.began_ns ==
        began + 1'000'000'000);
  // That of the look before, from which on changes are known.
  CHECK(recording_at(run, {.from_ns = 2 * s + s / 2, .until_ns = 4 * s}).meta.began_ns ==
        began + 2'000'000'000);
  const Recording survivors =
      recording_at(run, {.from_ns = 2 * s, .until_ns = 3 * s, .view = HistoryView::survivors});
  CHECK(survivors.meta.began_ns == began + 2'000'000'000);
  run.recording.meta.began_ns = INT64_MAX;
  CHECK(recording_at(run, {.from_ns = s, .until_ns = 3 * s}).meta.began_ns == 0);
}

TEST_CASE("survivors are the blocks of the last survey, by stretches") {
  const History run = small_run();
  const auto survivors = [&](uint64_t from, uint64_t until) {
    return recording_at(run, {.from_ns = from, .until_ns = until, .view = HistoryView::survivors});
  };
  CHECK(shown(survivors(0, 4 * s)) == Shown{{1, 400}});
  CHECK(shown(survivors(2 * s, 3 * s)) == Shown{{1, 100}});
  // Rounded outwards.
  CHECK(shown(survivors(s, 3 * s)) == Shown{{1, 300}});
  CHECK(survivors(s, 3 * s).meta.notes ==
        std::vector<std::string>{"blocks allocated from 0 s to 3 s that were live at 4 s"});
  CHECK(survivors(s, 3 * s).types.size() == 2);
  CHECK(refused(run, {.from_ns = 4 * s, .until_ns = 5 * s, .view = HistoryView::survivors})
            .find("the last survey of live blocks is at 4 s") == 0);
}

TEST_CASE("views that a recording does not have are refused") {
  History run = small_run();
  for (ValueType& type : run.recording.types) type.name += "-pages";
  run.recording.types[2].name = "gained";
  run.recording.shown = 2;
  CHECK(refused(run, {.view = HistoryView::live}) ==
        "--view live: the recording has no such figures; it has live-pages, live-count-pages, "
        "gained, total-count-pages, which --value chooses");
  CHECK(refused(run, {.view = HistoryView::survivors}).find("needs a recording of blocks") !=
        std::string::npos);
  CHECK(shown(recording_at(run, {})) == Shown{{1, 400}, {2, 50}});
  CHECK(shown(recording_at(run, {.from_ns = s, .until_ns = 2 * s})) == Shown{{1, 100}});
  const History blocks = small_run();
  CHECK(refused(blocks, {.at_ns = s, .from_ns = s, .until_ns = 2 * s}) ==
        "--at and --between are mutually exclusive");
  CHECK(refused(blocks, {.from_ns = s, .until_ns = 2 * s, .view = HistoryView::live})
            .find("one instant") != std::string::npos);
}

TEST_CASE("sampled figures: the error of a difference is not made too small") {
  History run = small_run();
  for (ValueType& type : run.recording.types) type.variance = 4;
  run.recording.types.push_back({"variance", Unit::variance});
  for (Look& look : run.looks) {
    LookRows rows;
    for (const Look::Row& row : look.rows) {
      std::vector<int64_t> values(row.values.begin(), row.values.end());
      values.push_back(values[1] * 10);
      rows.add(row.track, values);
    }
    look.rows = std::move(rows);
  }
  const Recording growth = recording_at(run, {.from_ns = s, .until_ns = 2 * s});
  REQUIRE(growth.sums.size() == 1);  // the second stack did not change: exactly nothing
  run.recording.types[2].variance = run.recording.types[3].variance = no_column;
  const Recording live = recording_at(run, {.from_ns = s, .until_ns = 2 * s});
  CHECK(live.sums[0].values[4] == 30);
}

TEST_CASE("recordings are an input like others") {
  MadeUpRun run;
  const std::string bytes = recorded(run, 40);
  const auto read = [&](const std::string& text, const ReadOptions& options) {
    Source source = Source::of_memory(text, "run.mfr");
    return read_profile(source, "", options);
  };
  const Profile whole = read(bytes, {});
  int64_t live = 0, total = 0;
  for (const auto& figures : figures_of(run.history())) {
    live += figures[0];
    total += figures[2];
  }
  CHECK(whole.total(0) == live);
  CHECK(whole.total(2) == total);
  CHECK(whole.meta.command == "memflame record -p 812");
  const StackId stack = whole.touched().front();
  CHECK(whole.strings[whole.frames[whole.path(stack)[0]].function] ==
        run.history().recording.spaces[1].comm);

  const Profile then = read(bytes, {.history = {.at_ns = 10 * s}});
  CHECK(then.total(2) < total);
  CHECK(then.meta.notes.front().find("figures at ") == 0);

  // Without its end it has no names, but its figures, and says so.
  const Profile cut = read(bytes.substr(0, bytes.size() - 10), {.symbols = false});
  CHECK(cut.total(2) == total);
  CHECK(cut.meta.notes.front().find("the recording ends after 40.0 s: it was not finished") == 0);
  CHECK_THROWS_AS(read(bytes.substr(0, bytes.size() - 10), {.refuse_truncated = true}), Error);
}
