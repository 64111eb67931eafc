// SPDX-License-Identifier: BSD-2-Clause
// Figures at edges are those of figures_of_blocks(), which commands draw.
#include <doctest/doctest.h>

#include <random>

#include "collapse/events/block_fold.h"
#include "collapse/report/report_of.h"
#include "collapse/select/event_views.h"
#include "collapse/select/parse.h"
#include "core/error.h"
#include "tests/collapse/events/made_events.h"
#include "tests/collapse/report/report_figures.h"
#include "tests/collapse/select/made_run.h"

using namespace memflame;  // NOLINT(google-build-using-namespace)

namespace {

constexpr uint64_t s = seconds_ns;
constexpr uint32_t never = ReportRow::never;
using Names = std::vector<std::string>;

Query where(const std::string& text) {
  Query query;
  if (!text.empty()) add_where(query, "--where", text);
  return query;
}

History history_of(const MadeRun& run) {
  History history;
  history.recording = run.recording;
  history.recording.types = {{"live", Unit::bytes}};
  history.marks = run.marks;
  return history;
}

Report report_of_run(MadeRun& run, size_t bins = 10, const std::string& text = "",
                     std::vector<EventGap> gaps = {}) {
  History history = history_of(run);
  history.gaps = std::move(gaps);
  return report_of_blocks(run, history, {.bins = bins, .selection = where(text)});
}

// The rows of the run's only stack.
struct Row {
  uint32_t born, freed;
  int64_t bytes, blocks;
  friend bool operator==(const Row&, const Row&) = default;
};
std::vector<Row> rows_of(const Report& report) {
  std::vector<Row> rows;
  for (size_t i = 0; i < report.rows.size(); ++i)
    rows.push_back({report.rows[i].born, report.rows[i].freed, report.values_of(i)[0],
                    report.values_of(i)[1]});
  return rows;
}

std::vector<uint64_t> in_seconds(const std::vector<uint64_t>& edges) {
  std::vector<uint64_t> seconds;
  seconds.reserve(edges.size());
  for (const uint64_t edge : edges) seconds.push_back(edge / s);
  return seconds;
}

// A made-up run of events, read anew each time.
class MadeUpBlocks : public BlockSource {
 public:
  MadeUpBlocks(unsigned seed, bool is_sampled)
      : events_({.seed = seed, .calls = 200}), history(history_of_events()) {
    // Stacks of the same names are one stack of the report.
    name_stacks(history.recording, 4);
    if (is_sampled) history.recording.meta.sampling = "one block per 64 KiB";
    for (const Item& item : events_.items)
      if (const auto* gap = std::get_if<EventGap>(&item)) history.gaps.push_back(*gap);
    history.marks = {{.time_ns = events_.end_ns / 3 + 1, .name = "a third"}};
  }

  RunFacts facts() const override {
    return {.recording = history.recording,
            .threads = history.threads,
            .marks = history.marks,
            .end_ns = events_.end_ns};
  }
  bool has_addresses() override { return true; }
  bool has_free_stacks() override { return true; }
  void for_each_block(const VisitBlock& visit) override {
    BlockFold fold(history, visit);
    hand_on(events_.items, fold);
    fold.finish(events_.end_ns);
  }

 private:
  MadeUpEvents events_;

 public:
  History history;
};

// Compares all views between two edges with what the commands draw.
class EdgeFigures {
 public:
  EdgeFigures(MadeUpBlocks& blocks, const Report& report, std::string selected)
      : blocks_(blocks), report_(report), selected_(std::move(selected)) {}

  void compare(uint32_t from, uint32_t until) {
    const auto born = [=](const ReportRow& row) { return is_within(row.born, from, until); };
    const auto freed = [=](const ReportRow& row) { return is_within(row.freed, from, until); };
    const HistoryRange range = range_of(from, until);
    CHECK(of_rows(born) == drawn(range, HistoryView::total, 2));
    CHECK(of_rows(freed) == drawn(range, HistoryView::freed));
    CHECK(of_rows([&](const ReportRow& row) { return born(row) && freed(row); }) ==
          drawn(range, HistoryView::churn));
    CHECK(of_rows([&](const ReportRow& row) { return born(row) && row.freed == never; }) ==
          drawn(range, HistoryView::leaked));
    CHECK(of_rows([&](const ReportRow& row) { return born(row) && lives_at(row, last_edge()); }) ==
          drawn(range, HistoryView::survivors));
    CHECK(of_rows([&](const ReportRow& row) {
            return (lives_at(row, until) ? 1 : 0) - (lives_at(row, from) ? 1 : 0);
          }) == drawn(range, HistoryView::growth));
    CHECK(of_rows([&](const ReportRow& row) { return lives_at(row, until); }) ==
          drawn({.at_ns = report_.edges[until]}, HistoryView::live));
    const std::string live_in =
        from == 0 ? "allocated <= " + time(until) : "live in " + time(from) + ".." + time(until);
    CHECK(of_rows([&](const ReportRow& row) {
            return row.born < until && (row.freed == never || row.freed >= from);
          }) == drawn({}, HistoryView::total, 2, live_in));
  }

  void compare_peak() {
    CHECK(of_rows([&](const ReportRow& row) { return lives_at(row, report_.peak); }) ==
          drawn({}, HistoryView::peak));
  }

 private:
  uint32_t last_edge() const { return static_cast<uint32_t>(report_.bins()); }
  std::string time(uint32_t edge) const { return std::to_string(report_.edges[edge]) + "ns"; }
  HistoryRange range_of(uint32_t from, uint32_t until) const {
    HistoryRange range{.until_ns = report_.edges[until]};
    if (from != 0) range.from_ns = report_.edges[from];
    return range;
  }

  FiguresByStack of_rows(const std::function<int(const ReportRow&)>& counts) const {
    FiguresByStack figures = figures_of(report_, counts);
    for (auto& [stack, values] : figures) values.resize(2);
    return figures;
  }
  FiguresByStack drawn(HistoryRange range, HistoryView view, size_t column = 0,
                       const std::string& also = "") {
    range.view = view;
    Query query = where(selected_);
    if (!also.empty()) add_where(query, "--where", also);
    ViewFigures figures = figures_of_blocks(blocks_, range, query);
    return figures_of(with_figures(blocks_.history.recording, std::move(figures)),
                      {column, column + 1});
  }

  MadeUpBlocks& blocks_;
  const Report& report_;
  const std::string selected_;
};

}  // namespace

TEST_CASE("what happens at an edge was before it") {
  MadeRun run;
  const RawStackId f = run.stack({"main", "f"});
  run.add({.allocated_ns = 20 * s, .freed_ns = 50 * s, .size = 1, .stack = f});
  run.add({.allocated_ns = 20 * s + 1, .freed_ns = 50 * s + 1, .size = 2, .stack = f});
  run.add({.allocated_ns = 0, .size = 4, .stack = f});
  run.add({.allocated_ns = 20 * s + 2, .freed_ns = 20 * s + 3, .size = 0, .stack = f});
  const Report report = report_of_run(run);
  // The peak is 1 ns behind 20 s; nine bins are even.
  CHECK(report.edges.size() == 11);
  CHECK(report.edges[report.peak] == 20 * s + 1);
  const auto edge_of = [&](uint64_t time) {
    return static_cast<uint32_t>(std::lower_bound(report.edges.begin(), report.edges.end(), time) -
                                 report.edges.begin());
  };
  const uint32_t peak = report.peak;
  CHECK(rows_of(report) == std::vector<Row>{{0, never, 4, 1},
                                            {peak - 1, edge_of(50 * s) - 1, 3, 2},
                                            {peak, peak, 0, 1}});
}

TEST_CASE("bins, kinds and totals of a small run") {
  MadeRun run;
  const RawStackId f = run.stack({"main", "f"});
  run.marks = {{.time_ns = 33 * s + 7, .name = "deploy"}};
  run.add({.allocated_ns = 10 * s, .freed_ns = 15 * s, .size = 100, .stack = f});
  run.add({.allocated_ns = 10 * s, .freed_ns = 15 * s, .size = 60, .stack = f});
  run.add({.allocated_ns = 60 * s, .size = 0, .stack = f});
  const Report report =
      report_of_run(run, 10, "", {{.from_ns = 70 * s, .until_ns = EventGap::no_end, .events = 3}});
  CHECK(report.kind == Report::Kind::blocks);
  // Exact: the peak at 10 s, the marker, the gap's beginning. Seven others are even.
  CHECK(in_seconds(report.edges) ==
        std::vector<uint64_t>{0, 10, 14, 28, 33, 42, 57, 70, 71, 85, 100});
  CHECK(report.peak == 1);
  REQUIRE(report.marks.size() == 1);
  CHECK(report.edges[report.marks[0].edge] == 33 * s + 7);
  CHECK(report.marks[0].name == "deploy");
  REQUIRE(report.gaps.size() == 1);
  CHECK(report.edges[report.gaps[0].from] == 70 * s);
  CHECK(report.gaps[0].until == report.bins());
  CHECK(report.gaps[0].events == 3);
  CHECK(rows_of(report) == std::vector<Row>{{0, 2, 160, 2}, {6, never, 0, 1}});
  CHECK(report.profile.types ==
        std::vector<ValueType>{{"bytes", Unit::bytes}, {"blocks", Unit::count}});
  CHECK(report.profile.total(0) == 160);
  CHECK(report.profile.total(1) == 3);
  // 5 s are 2^32 ns, 40 s 2^35; sizes are 2^6, 2^5 and nothing.
  CHECK(report.shapes ==
        std::vector<ReportShape>{
            {.lifetime = 32, .size = 5, .born = 0, .freed = 2, .bytes = 60, .blocks = 1},
            {.lifetime = 32, .size = 6, .born = 0, .freed = 2, .bytes = 100, .blocks = 1},
            {.lifetime = 35, .size = 0, .born = 6, .freed = never, .bytes = 0, .blocks = 1}});
  CHECK(report.profile.meta.seconds == 100);
}

TEST_CASE("a selection restricts the blocks, but not the peak") {
  MadeRun run;
  const RawStackId f = run.stack({"main", "f"});
  run.add({.allocated_ns = 10 * s, .freed_ns = 15 * s, .size = 100, .stack = f});
  run.add({.allocated_ns = 60 * s, .size = 7, .stack = f});
  const Report report = report_of_run(run, 10, "leaked");
  CHECK(report.edges[report.peak] == 10 * s);
  CHECK(report.profile.total(0) == 7);
  CHECK(report.profile.meta.notes == Names{"selected by --where leaked: 1 of 2 blocks"});
  CHECK(report.shapes.size() == 1);
}

TEST_CASE("an answer is never empty") {
  MadeRun run;
  CHECK_THROWS_WITH(report_of_run(run),
                    "the recording has no block: nothing was allocated while its events were "
                    "recorded");
  run.add({.allocated_ns = 10 * s, .size = 100, .stack = run.stack({"main", "f"})});
  CHECK_THROWS_WITH(report_of_run(run, 10, "size > 100"),
                    "no block is selected by --where size > 100: the recording has 1 others");
  CHECK_THROWS_AS(report_of_run(run, 10, "live at 'nowhere'"), Error);
}

TEST_CASE("too many markers and gaps: the others are moved, and it is said") {
  MadeRun run;
  run.add({.allocated_ns = 10 * s, .size = 100, .stack = run.stack({"main", "f"})});
  for (uint64_t i = 1; i <= 6; ++i) run.marks.push_back({.time_ns = i * s, .name = "mark"});
  const Report report =
      report_of_run(run, 8, "", {{.from_ns = 90 * s, .until_ns = 91 * s, .events = 1}});
  // The peak and three markers are exact.
  CHECK(in_seconds(report.edges) == std::vector<uint64_t>{0, 1, 2, 3, 10, 25, 50, 75, 100});
  CHECK(report.marks.size() == 6);
  CHECK(report.marks[5].edge == 3);
  CHECK(report.gaps[0].from == 7);
  CHECK(report.gaps[0].until == 8);
  CHECK(
      report.profile.meta.notes ==
      Names{"there are too many markers for all to be where they should be: 3 markers are shown "
            "at the nearest edge",
            "there are too many gaps for all to end where they should: 1 gap is shown to the next "
            "edges"});
}

TEST_CASE("random runs: every view between edges is what commands draw") {
  std::mt19937_64 random(11);  // NOLINT(bugprone-random-generator-seed): the same each time
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    MadeUpBlocks blocks(seed, seed % 3 == 0);
    History history = blocks.history;
    const std::string selected = seed % 4 == 0 ? "size > 100" : "";
    // Few rows make bins few.
    const Report report = report_of_blocks(
        blocks, history,
        {.bins = 64, .most_rows = seed % 2 == 0 ? 40U : 100'000U, .selection = where(selected)});
    REQUIRE(std::is_sorted(report.edges.begin(), report.edges.end()));
    REQUIRE(report.values.size() == report.rows.size() * report.profile.types.size());
    CHECK(std::adjacent_find(report.rows.begin(), report.rows.end()) == report.rows.end());
    EdgeFigures comparison(blocks, report, selected);
    if (selected.empty()) comparison.compare_peak();
    for (int i = 0; i < 12; ++i) {
      auto from = static_cast<uint32_t>(random() % report.bins());
      const auto until = static_cast<uint32_t>(from + 1 + random() % (report.bins() - from));
      if (i == 0) from = 0;
      comparison.compare(from, until);
    }
    // A profile's values are the sums of all rows.
    for (const auto& [stack, values] : figures_of(report, [](const ReportRow&) { return 1; }))
      CHECK(values[1] > 0);
    for (size_t column = 0; column < report.profile.types.size(); ++column) {
      int64_t sum = 0;
      for (size_t i = 0; i < report.rows.size(); ++i) sum += report.values_of(i)[column];
      CHECK(sum == report.profile.total(column));
    }
    int64_t blocks_of_shapes = 0;
    for (const ReportShape& shape : report.shapes) blocks_of_shapes += shape.blocks;
    CHECK(blocks_of_shapes == report.profile.total(1));
  }
}

TEST_CASE("sampled blocks have the errors that views have") {
  MadeRun run;
  run.recording.meta.sampling = "one block per 64 KiB";
  const RawStackId f = run.stack({"main", "f"});
  run.add({.allocated_ns = s, .size = 1024, .weight = 4096, .count = 4, .stack = f});
  const Report report = report_of_run(run);
  REQUIRE(report.profile.types.size() == 4);
  CHECK(report.profile.types[0].variance == 2);
  CHECK(report.profile.types[1].variance == 3);
  const std::span<const int64_t> values = report.values_of(0);
  CHECK(std::vector<int64_t>(values.begin(), values.end()) ==
        std::vector<int64_t>{4096, 4, 12, 12});
}
