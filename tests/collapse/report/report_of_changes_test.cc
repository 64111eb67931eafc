// SPDX-License-Identifier: BSD-2-Clause
// Reports of series: figures at edges are those of recording_at(), which commands draw.
#include <doctest/doctest.h>

#include <numeric>
#include <random>

#include "collapse/report/report_of.h"
#include "collapse/select/parse.h"
#include "core/error.h"
#include "tests/collapse/history/history_run.h"
#include "tests/collapse/report/report_figures.h"
#include "tests/support/made_history.h"

using namespace memflame;  // NOLINT(google-build-using-namespace)

namespace {

constexpr uint64_t s = a_second;

History made_up(unsigned seed, size_t looks) {
  MadeUpRun run({.seed = seed});
  for (size_t i = 0; i < looks; ++i) run.step();
  History history = run.history();
  name_stacks(history.recording, 7);
  return history;
}

Report report_of_copy(const History& history, const ReportOptions& options) {
  History copy = history;
  return report_of_changes(copy, options);
}

FiguresByStack drawn(const History& history, const HistoryRange& range) {
  std::vector<size_t> columns(history.recording.types.size());
  std::iota(columns.begin(), columns.end(), 0);
  return figures_of(recording_at(history, range), columns);
}

// Two stacks in four seconds: the first grows, the second has blocks from 1 s to 3 s.
History small_run() {
  HistoryMaker maker;
  const TrackId grows = maker.track({"grow"}), comes = maker.track({"come"});
  maker.look(1, {{grows, {100, 1, 100, 1}}, {comes, {550, 5, 550, 5}}});
  maker.look(2, {{grows, {200, 2, 200, 2}}});
  maker.look(3, {{grows, {300, 3, 300, 3}}, {comes, {0, 0, 550, 5}}});
  maker.look(4, {{grows, {400, 4, 400, 4}}});
  maker.history.marks = {{.time_ns = 2 * s + 1, .name = "deploy"}};
  return std::move(maker.history);
}

}  // namespace

TEST_CASE("rows are changes, edges are looks") {
  const Report report = report_of_copy(small_run(), {});
  CHECK(report.kind == Report::Kind::changes);
  CHECK(report.edges == std::vector<uint64_t>{0, s, 2 * s, 3 * s, 4 * s});
  CHECK(report.edges[report.peak] == 2 * s);
  REQUIRE(report.marks.size() == 1);
  CHECK(report.marks[0].edge == 2);
  CHECK(report.profile.types.size() == 4);
  CHECK(report.profile.meta.notes.empty());
  CHECK(report.shapes.empty());
  const auto changes = [&](uint32_t bin) {
    return figures_of(report, [=](const ReportRow& row) { return row.born == bin ? 1 : 0; });
  };
  CHECK(changes(0) == FiguresByStack{{"server;main;grow", {100, 1, 100, 1}},
                                     {"server;main;come", {550, 5, 550, 5}}});
  CHECK(changes(1) == FiguresByStack{{"server;main;grow", {100, 1, 100, 1}}});
  CHECK(changes(2) == FiguresByStack{{"server;main;grow", {100, 1, 100, 1}},
                                     {"server;main;come", {-550, -5, 0, 0}}});
  for (const ReportRow& row : report.rows) CHECK(row.freed == ReportRow::never);
  CHECK(report.profile.total(0) == 400);
  CHECK(report.profile.total(2) == 950);
  CHECK(report.lines.totals.size() == 4);
  CHECK(report.lines.bands.empty());
}

TEST_CASE("a stack of which nothing is left has its rows") {
  HistoryMaker maker;
  maker.history.recording.types.resize(2);
  const TrackId comes = maker.track({"come"});
  maker.look(1, {{comes, {50, 5}}});
  maker.look(2, {{comes, {0, 0}}});
  const Report report = report_of_copy(maker.history, {});
  CHECK(report.rows.size() == 2);
  REQUIRE(report.profile.touched().size() == 1);
  CHECK(report.profile.touched().front() == report.rows[0].stack);
}

TEST_CASE("random series: figures at edges, and their differences") {
  std::mt19937_64 random(3);  // NOLINT(bugprone-random-generator-seed): the same each time
  for (unsigned seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    History history = made_up(seed, 60);
    history.marks = {{.time_ns = 17 * s + s / 3, .name = "one"}};
    const Report report = report_of_copy(
        history, {.bins = seed % 2 == 0 ? 256U : 20U, .most_rows = seed % 4 < 2 ? 150U : 100'000U});
    REQUIRE(report.edges.back() == history.looks.back().time_ns);
    const auto distance = [&](const Look& look) {
      const uint64_t mark_ns = history.marks[0].time_ns;
      return std::max(look.time_ns, mark_ns) - std::min(look.time_ns, mark_ns);
    };
    const auto nearest =
        std::min_element(history.looks.begin(), history.looks.end(),
                         [&](const Look& a, const Look& b) { return distance(a) < distance(b); });
    CHECK(report.edges[report.marks.at(0).edge] == nearest->time_ns);
    for (int i = 0; i < 25; ++i) {
      const auto from = static_cast<uint32_t>(random() % report.bins());
      const auto until = static_cast<uint32_t>(from + 1 + random() % (report.bins() - from));
      CHECK(figures_of(report, [=](const ReportRow& row) { return row.born < until ? 1 : 0; }) ==
            drawn(history, {.at_ns = report.edges[until]}));
      HistoryRange range{.until_ns = report.edges[until], .view = HistoryView::growth};
      if (from != 0) range.from_ns = report.edges[from];
      CHECK(figures_of(report, [=](const ReportRow& row) {
              return is_within(row.born, from, until) ? 1 : 0;
            }) == drawn(history, range));
    }
  }
}

TEST_CASE("folders of sources may be left out") {
  History history = small_run();
  for (Location& location : history.recording.locations) {
    std::vector<Symbol> symbols(location.symbols.begin(), location.symbols.end());
    for (Symbol& symbol : symbols) symbol.file = "/src/someone/" + symbol.function + ".cc";
    location.symbols = symbols;
  }
  const auto has = [](const Report& report, std::string_view file) {
    const FrameTable& frames = report.profile.frames;
    for (uint32_t i = 1; i < frames.size(); ++i)
      if (report.profile.strings[frames[FrameId{i}].file] == file) return true;
    return false;
  };
  CHECK(has(report_of_copy(history, {}), "/src/someone/grow.cc"));
  const Report report = report_of_copy(history, {.source_folders = false});
  CHECK(has(report, "grow.cc"));
  CHECK_FALSE(has(report, "/src/someone/grow.cc"));
}

TEST_CASE("a series without figures, and one that is damaged, are errors") {
  HistoryMaker maker;
  CHECK_THROWS_AS(report_of_copy(maker.history, {}), Error);
  maker.look(1);
  CHECK_THROWS_AS(report_of_copy(maker.history, {}), Error);
  maker.history.looks[0].rows.add(TrackId{5}, std::vector<int64_t>{1, 1, 1, 1});
  CHECK_THROWS_AS(report_of_copy(maker.history, {}), Error);
  maker.history.looks[0].rows = {{maker.track({"f"}), {1, 1}}};
  CHECK_THROWS_AS(report_of_copy(maker.history, {}), Error);
}

TEST_CASE("reports of files: with events of blocks, else of changes") {
  MadeUpRun run;
  run.step();
  run.name();
  const std::string series = recorded(run, 3);
  Source source = Source::of_memory(series, "run.mfr");
  const Report report = report_of(source, {});
  CHECK(report.kind == Report::Kind::changes);
  CHECK(report.file == "run.mfr");
  ReportOptions options;
  add_where(options.selection, "--where", "leaked");
  Source again = Source::of_memory(series, "run.mfr");
  CHECK_THROWS_WITH(report_of(again, options),
                    "run.mfr: --where selects single blocks, and this recording has sums only; "
                    "'memflame record --detail events' keeps every block");

  History history = run.history();
  history.threads.push_back({.space = SpaceId{1}, .tid = 812, .name = "server"});
  const RecordingFile file;
  HistoryWriter writer = writer_of(file.path(), history);
  const Event allocation{.kind = EventKind::allocation,
                         .time_ns = s / 2,
                         .thread = ThreadId{1},
                         .space = {},
                         .block = BlockNumber{1},
                         .stack = RawStackId{1},
                         .address = 4096,
                         .size = 64};
  writer.add_events(history, std::span(&allocation, 1));
  writer.add(history, run.last());
  writer.finish(history);
  Source of_events = Source::open(file.path());
  const Report blocks = report_of(of_events, options);
  CHECK(blocks.kind == Report::Kind::blocks);
  CHECK(blocks.rows.size() == 1);
  CHECK(blocks.profile.total(0) == 64);
  CHECK(blocks.edges[blocks.peak] == s / 2);
}
