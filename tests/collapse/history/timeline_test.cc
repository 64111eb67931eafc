// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/history/timeline.h"

#include <doctest/doctest.h>

#include "collapse/history/stack_labels.h"
#include "core/error.h"
#include "tests/support/made_history.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::vector<std::string> names(const std::vector<TimeLine>& lines) {
  std::vector<std::string> all;
  all.reserve(lines.size());
  for (const TimeLine& line : lines) all.push_back(line.name);
  return all;
}

std::vector<int64_t> values(const TimeLine& line) {
  std::vector<int64_t> all;
  all.reserve(line.points.size());
  for (const TimePoint& point : line.points) all.push_back(point.value.value_or(-1));
  return all;
}

std::string error_of(const History& history, const TimelineOptions& options) {
  try {
    timeline_of(history, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

using Names = std::vector<std::string>;
using Values = std::vector<int64_t>;

// Two stacks: one grows at 1 s and shrinks at 3 s, the other grows at 2 s.
struct Two : HistoryMaker {
  Two() {
    const TrackId a = track({"a", "libc.so.6/malloc"}), b = track({"b", "libc.so.6/malloc"});
    history.gauges = {{"resident", Unit::bytes}};
    look(1, {{a, {100, 1, 100, 1}}}).gauges = {5000};
    look(2, {{b, {60, 2, 60, 2}}}).gauges = {no_reading};
    look(3, {{a, {10, 1, 200, 5}}}).gauges = {5100};
    look(4).gauges = {5200};
  }
};

}  // namespace

TEST_CASE("of several probes, each has a leading column, and any column can be shown") {
  HistoryMaker maker;
  History& history = maker.history;
  history.recording.types.push_back({"fault-gained", Unit::pages});
  history.recording.types.push_back({"fault-released", Unit::pages});
  const TrackId a = maker.track({"a"}), b = maker.track({"b"});
  maker.look(1, {{a, {100, 1, 100, 1, 0, 0}}, {b, {0, 0, 0, 0, 9, 2}}});
  std::vector<std::string> leading;
  for (const TimeLine& total : timeline_of(history, {}).totals)
    if (total.leads_probe) leading.push_back(total.name);
  CHECK(leading == Names{"fault-gained"});

  TimelineOptions options;
  options.show = TimelineShow::column;
  options.column = "fault-gained";
  const Timeline timeline = timeline_of(history, options);
  CHECK(timeline.shown.name == "fault-gained");
  CHECK(timeline.shown.unit == Unit::pages);
  REQUIRE(timeline.bands.size() == 1);
  CHECK(values(timeline.bands[0]).back() == 9);
  options.column = "gained";
  CHECK(error_of(history, options).find("has live, live-count, total, total-count, fault-gained") !=
        std::string::npos);
}

TEST_CASE("a line per stack, the total of each column, and the system's figures") {
  const Timeline timeline = timeline_of(Two().history, {});
  CHECK(timeline.whole == TimeRange{0, 4});
  CHECK(timeline.shown_range == TimeRange{0, 4});
  CHECK(timeline.shown.name == "live");
  CHECK(timeline.stacks == 2);
  CHECK(timeline.meta.seconds == 4);
  CHECK(names(timeline.bands) == Names{"a", "b"});
  CHECK(values(timeline.bands[0]) == Values{0, 100, 100, 10, 10});
  CHECK(values(timeline.bands[1]) == Values{0, 0, 60, 60, 60});
  CHECK(timeline.bands[0].frames == Names{"server", "main", "a", "malloc"});
  CHECK(timeline.bands[0].extremes == TimeLine::Extremes{0, 100, 10, 1});
  CHECK(names(timeline.totals) == Names{"live", "live-count", "total", "total-count"});
  CHECK(values(timeline.totals[0]) == Values{0, 100, 160, 70, 70});
  CHECK(values(timeline.totals[3]) == Values{0, 1, 3, 7, 7});
  CHECK(names(timeline.gauges) == Names{"resident"});
  CHECK(values(timeline.gauges[0]) == Values{-1, 5000, -1, 5100, 5200});
  CHECK(timeline.gauges[0].extremes == TimeLine::Extremes{5000, 5200, 5200, 4});
}

TEST_CASE("other figures") {
  const auto first = [](TimelineShow show) {
    return timeline_of(Two().history, {.show = show}).bands[0];
  };
  CHECK(values(first(TimelineShow::live_count)) == Values{0, 0, 2, 2, 2});
  CHECK(values(first(TimelineShow::allocations)) == Values{0, 1, 1, 5, 5});
  CHECK(values(first(TimelineShow::frees)) == Values{0, 0, 0, 4, 4});
  const TimeLine rate = first(TimelineShow::rate);  // in tenths; that of the time after a point
  CHECK(values(rate) == Values{10, 0, 40, 0, 0});
  CHECK(rate.type.decimals == 1);
  CHECK(rate.extremes->most_at == 2);
}

TEST_CASE("a figure that the recording does not have is refused") {
  Two two;
  two.history.recording.types[3].name = "calls";
  CHECK(error_of(two.history, {.show = TimelineShow::rate}) ==
        "--show needs the figures 'total-count', which are not in this recording; it has live, "
        "live-count, total, calls");
  two.history.recording.types[0].name = "grown";
  two.history.recording.shown = 2;
  CHECK(timeline_of(two.history, {}).shown.name == "total");
}

TEST_CASE("stacks beyond the top are one line") {
  const Timeline timeline = timeline_of(Two().history, {.top = 1});
  CHECK(names(timeline.bands) == Names{"a", "everything else"});
  CHECK(timeline.bands[1].kind == LineKind::rest);
  CHECK(timeline.bands[1].stacks == 1);
  CHECK(values(timeline.bands[1]) == Values{0, 0, 60, 60, 60});
}

TEST_CASE("tracks of stacks with the same names are one line") {
  HistoryMaker maker;
  const TrackId a = maker.track({"a"}), same = maker.track({"a"});
  maker.look(1, {{a, {1, 1, 1, 1}}, {same, {2, 1, 2, 1}}});
  const Timeline timeline = timeline_of(maker.history, {});
  REQUIRE(timeline.bands.size() == 1);
  CHECK(values(timeline.bands[0]) == Values{0, 3});
  CHECK(timeline.stacks == 1);
}

TEST_CASE("a range of the run: ranked by the figures in it") {
  const Timeline timeline = timeline_of(Two().history, {.between = TimeRange{3, 9}});
  CHECK(timeline.shown_range == TimeRange{3, 4});
  CHECK(timeline.shaded == std::vector<TimeRange>{{3, 4}});
  CHECK(names(timeline.bands) == Names{"b", "a"});
  CHECK(values(timeline.bands[1]) == Values{10, 10});
  CHECK(timeline.bands[1].extremes == TimeLine::Extremes{10, 10, 10, 3});
  CHECK(timeline.totals[0].points.size() == 5);  // the whole run
  CHECK(timeline.totals[0].extremes == TimeLine::Extremes{70, 70, 70, 3});
  CHECK(timeline.totals[0].whole_extremes == TimeLine::Extremes{0, 160, 70, 2});
  CHECK(error_of(Two().history, {.between = TimeRange{4, 9}}) ==
        "--between: the recording ends after 4.000 s; name a time before that");
}

TEST_CASE("more looks than points: each is the last value at or before its time") {
  HistoryMaker maker;
  const TrackId a = maker.track({"a"});
  for (int i = 1; i <= 100; ++i) maker.look(i, {{a, {i == 42 ? 1000 : i, 1, i, i}}});
  const Timeline timeline = timeline_of(maker.history, {.points = 5});
  CHECK(values(timeline.bands[0]) == Values{0, 25, 50, 75, 100});
  CHECK(timeline.bands[0].points[1].seconds == 25);
  CHECK(timeline.bands[0].extremes == TimeLine::Extremes{0, 1000, 100, 42});
  CHECK(values(timeline_of(maker.history, {.show = TimelineShow::rate, .points = 5}).bands[0]) ==
        Values{10, 10, 10, 10, 10});
}

TEST_CASE("more looks than points: a rate is the mean until the next point") {
  HistoryMaker maker;
  const TrackId a = maker.track({"a"});
  for (int i = 1; i <= 100; ++i) maker.look(i, {{a, {1, 1, 1, int64_t{40} * (i / 10)}}});
  const TimeLine line =
      timeline_of(maker.history, {.show = TimelineShow::rate, .points = 6}).bands[0];
  CHECK(values(line) == Values{40, 40, 40, 40, 40, 40});
  CHECK(line.extremes == TimeLine::Extremes{40, 40, 40, 0});
}

TEST_CASE("a recording without any look") {
  const Timeline timeline = timeline_of(HistoryMaker().history, {});
  CHECK(timeline.bands.empty());
  CHECK(values(timeline.totals[0]) == Values{0});
}

TEST_CASE("damaged histories are refused") {
  Two two;
  two.history.looks[1].rows.tracks()[0] = TrackId{77};
  CHECK(error_of(two.history, {}).starts_with("the recording is damaged"));
  Two sum;
  sum.history.looks[0].rows.values()[0] = INT64_MAX;
  CHECK(error_of(sum.history, {}).starts_with("the recording is damaged"));
}

TEST_CASE("labels: the program's own function, and what tells stacks apart") {
  const Timeline timeline = timeline_of(made_history(), {});
  CHECK(names(timeline.bands) == Names{"shop::session::Registry::remember", "Cache::fill",
                                       "Buffer::grow ← render_page", "Buffer::grow ← warm_up",
                                       "read_config", "log_line"});
  CHECK(timeline.marks.front() == TimeMark{40, "deploy 4.1"});

  Profile profile;
  const auto stack = [&](const std::vector<std::pair<std::string, std::string>>& frames) {
    StackId top;
    for (const auto& [name, module] : frames)
      top = profile.push(top, name, FrameKind::user, module);
    return top;
  };
  const std::vector<StackId> stacks{stack({{"f", ""}, {"g", "lib.so"}, {"malloc", "libc.so.6"}}),
                                    stack({{"f", ""}, {"h", "lib.so"}, {"malloc", "libc.so.6"}}),
                                    stack({{"g", "lib.so"}, {"malloc", "libc.so.6"}}),
                                    stack({{"malloc", "libc.so.6"}}),
                                    profile.push({}, "[lost]", FrameKind::note)};
  CHECK(stack_labels(profile, stacks) == Names{"f → g", "f → h", "g", "malloc", "[lost]"});
}
