// SPDX-License-Identifier: BSD-2-Clause
#include "cli/watch/window_draft.h"

#include <doctest/doctest.h>

#include <numeric>

#include "cli/watch/window_maker.h"
#include "collapse/input.h"
#include "core/error.h"
#include "probes/heaps/go/go_heaps.h"
#include "tests/support/made_history.h"

using namespace memflame;

namespace {

constexpr uint64_t room_for_names = 64 << 20;

// By SpaceId::index; spaces without an entry have none.
LabelsOf labels_in(std::vector<Labels> labels) {
  return [labels = std::move(labels)](SpaceId space) -> const Labels& {
    static const Labels none;
    return space.index < labels.size() ? labels[space.index] : none;
  };
}

// Two functions of one process allocate; the run has the columns of alloc.
struct MadeRun {
  HistoryMaker maker;
  TrackId leak = maker.track({"handle", "keep", "malloc"});
  TrackId cache = maker.track({"handle", "cache", "malloc"});
  WindowDrafts drafts{maker.history.recording.types, "alloc"};

  void look(double seconds, LookRows rows) {
    drafts.add(maker.look(seconds, std::move(rows)), maker.history);
  }
  WindowDraft take(const std::vector<Labels>& labels) {
    return drafts.take(maker.history, maker.history.recording, labels_in(labels));
  }
};

int64_t sum_of(const WindowDraft& draft, std::string_view column) {
  const Recording& recording = draft.recording;
  for (size_t c = 0; c < recording.types.size(); ++c)
    if (recording.types[c].name == column)
      return std::accumulate(
          recording.sums.begin(), recording.sums.end(), int64_t{0},
          [&](int64_t sum, const Aggregate& one) { return sum + one.values[c]; });
  FAIL("there is no column " << column);
  return 0;
}

}  // namespace

TEST_CASE("a window has what is there at its end, and what came in it") {
  MadeRun run;
  run.look(1, {{run.leak, {100, 1, 100, 1}}, {run.cache, {50, 5, 70, 7}}});
  const WindowDraft first = run.take({});
  CHECK(sum_of(first, "inuse_space") == 150);
  CHECK(sum_of(first, "alloc_space") == 170);
  CHECK(sum_of(first, "growth") == 150);

  run.look(2, {{run.leak, {300, 3, 300, 3}}});  // the cache did nothing
  const WindowDraft second = run.take({});
  CHECK(sum_of(second, "inuse_space") == 350);
  CHECK(sum_of(second, "inuse_objects") == 8);
  CHECK(sum_of(second, "alloc_space") == 200);
  CHECK(sum_of(second, "alloc_objects") == 2);
  CHECK(sum_of(second, "growth") == 200);

  // What is gone has no row, and what is there has one although nothing happened.
  run.look(3, {{run.leak, {0, 0, 300, 3}}});
  CHECK(run.take({}).recording.sums.size() == 2);  // one of them shrank
  const WindowDraft last = run.take({});
  CHECK(last.recording.sums.size() == 1);
  CHECK(sum_of(last, "inuse_space") == 50);
}

TEST_CASE("processes that have ended hold nothing") {
  MadeRun run;
  run.look(1, {{run.leak, {100, 1, 100, 1}}});
  CHECK(sum_of(run.take({}), "growth") == 100);
  run.look(1.5, {{run.leak, {150, 2, 150, 2}}});
  Look& end = run.maker.look(2);
  end.ended = {run.maker.history.tracks[run.leak.index].space};
  run.drafts.add(end, run.maker.history);
  const WindowDraft draft = run.take({});
  CHECK(sum_of(draft, "inuse_space") == 0);
  CHECK(sum_of(draft, "inuse_objects") == 0);
  CHECK(sum_of(draft, "alloc_space") == 50);
  CHECK(sum_of(draft, "growth") == -100);  // all that the window before had
  CHECK(run.take({}).recording.sums.empty());
}

TEST_CASE("tracks of processes that are gone are those of other stacks afterwards") {
  MadeRun run;
  const SpaceId space = run.maker.history.tracks[run.leak.index].space;
  run.look(1, {{run.leak, {100, 1, 100, 1}}, {run.cache, {50, 5, 70, 7}}});
  CHECK(run.take({}).recording.sums.size() == 2);
  Look& end = run.maker.look(2, {{run.leak, {150, 2, 150, 2}}});
  end.ended = {space};
  run.drafts.add(end, run.maker.history);
  CHECK(sum_of(run.take({}), "alloc_space") == 50);
  run.drafts.forget(std::vector{run.leak, run.cache});
  CHECK(run.take({}).recording.sums.empty());

  // Another process has the track of the leak.
  run.maker.history.tracks[run.leak.index].space = SpaceId{space.index + 1};
  run.look(3, {{run.leak, {30, 3, 40, 4}}});
  const WindowDraft draft = run.take({});
  CHECK(sum_of(draft, "inuse_space") == 30);
  CHECK(sum_of(draft, "alloc_space") == 40);
  CHECK(sum_of(draft, "growth") == 30);
  REQUIRE(draft.judged);
  CHECK(draft.judged->ledger.live_bytes(run.leak) == 30);
}

TEST_CASE("stacks belong to the service of their process") {
  MadeRun run;
  run.look(1, {{run.leak, {100, 1, 100, 1}}, {run.cache, {50, 5, 70, 7}}});
  const SpaceId space = run.maker.history.tracks[run.leak.index].space;
  std::vector<Labels> labels(space.index + size_t{1});
  labels[space.index] = {{"service", "a"}};
  const WindowDraft draft = run.take(labels);
  REQUIRE(draft.services.size() == 1);
  CHECK(draft.services[0].labels == Labels{{"service", "a"}});
  CHECK(draft.services[0].sums.size() == 2);
}

TEST_CASE("columns of other probes become growth") {
  const std::vector<ValueType> types{{"fault-gained", Unit::pages},
                                     {"fault-released", Unit::pages},
                                     {"brk-grown", Unit::bytes},
                                     {"brk-outstanding", Unit::bytes}};
  HistoryMaker maker;
  maker.history.recording.types = types;
  const TrackId track = maker.track({"grow"});
  WindowDrafts drafts(types, "");
  drafts.add(maker.look(1, {{track, {10, 3, 4096, 4096}}}), maker.history);
  CHECK(sum_of(drafts.take(maker.history, maker.history.recording, labels_in({})),
               "resident_space") == 7 * 4096);
  drafts.add(maker.look(2, {{track, {10, 5, 4096, 0}}}), maker.history);
  const WindowDraft draft = drafts.take(maker.history, maker.history.recording, labels_in({}));
  CHECK(sum_of(draft, "resident_space") == -2 * 4096);
  CHECK(sum_of(draft, "brk_space") == 0);
  CHECK_THROWS_AS(WindowDrafts({{"calls", Unit::count}}, "brk"), Error);
}

TEST_CASE("what Go's runtime allocated before it was watched did not come in a window") {
  HistoryMaker maker;
  maker.history.recording.types.push_back({std::string(watched_column), Unit::bytes});
  maker.history.recording.types.push_back({std::string(watched_count_column), Unit::count});
  const TrackId track = maker.track({"main.keep"});
  WindowDrafts drafts(maker.history.recording.types, "alloc");
  drafts.add(maker.look(1, {{track, {100, 1, 900, 9, 0, 0}}}), maker.history);
  const WindowDraft first = drafts.take(maker.history, maker.history.recording, labels_in({}));
  CHECK(sum_of(first, "inuse_space") == 100);
  CHECK(sum_of(first, "alloc_space") == 0);
  drafts.add(maker.look(2, {{track, {100, 1, 1000, 10, 100, 1}}}), maker.history);
  const WindowDraft second = drafts.take(maker.history, maker.history.recording, labels_in({}));
  CHECK(sum_of(second, "alloc_space") == 100);
  CHECK(sum_of(second, "alloc_objects") == 1);
}

TEST_CASE("two runs of one service make one window, and those of another one of their own") {
  MadeRun native, go;
  native.look(1, {{native.leak, {100, 1, 100, 1}}});
  go.look(1, {{go.leak, {50, 5, 70, 7}}});
  const auto labels_of = [](const MadeRun& run, const char* service) {
    const SpaceId space = run.maker.history.tracks[run.leak.index].space;
    std::vector<Labels> labels(space.index + size_t{1});
    labels[space.index] = {{"service", service}};
    return labels;
  };
  const auto windows_of = [&](const char* service) {
    WindowMaker maker("memflame watch (test)", "host", true);
    WindowDraft first = native.take(labels_of(native, "a"));
    first.began_ns = 1'000'000'000;
    first.ended_ns = 2'000'000'000;
    first.figures = {{"lost_events", 3}};
    first.services.at(0).figures = {{"processes", 1}};
    WindowDraft second = go.take(labels_of(go, service));
    second.began_ns = first.began_ns;
    second.ended_ns = first.ended_ns;
    second.services.at(0).figures = {{"processes", 2}};
    return maker.make({first, second}, room_for_names);
  };
  const std::vector<Window> one = windows_of("a");
  REQUIRE(one.size() == 1);
  CHECK(one[0].head.figures.at("processes") == 3);
  CHECK(one[0].head.figures.at("lost_events") == 3);
  CHECK(one[0].head.figures.at("cut_stacks") == 2);
  Source source = Source::of_memory(one[0].pprof);
  const Profile profile = read_profile(source, "pprof", {});
  CHECK(profile.total(0) == 150);
  CHECK(profile.total(3) == 8);
  CHECK(profile.meta.host == "host");
  const std::vector<Window> two = windows_of("b");
  REQUIRE(two.size() == 2);
  CHECK(two[1].head.labels == Labels{{"service", "b"}});
  CHECK(two[1].head.figures.at("processes") == 2);
  CHECK(two[1].head.figures.at("lost_events") == 3);
}

TEST_CASE("a window has the sums of its draft, under names") {
  MadeRun run;
  run.look(1, {{run.leak, {100, 1, 100, 1}}, {run.cache, {50, 5, 70, 7}}});
  WindowDraft draft = run.take({});
  draft.began_ns = 1'000'000'000;
  draft.ended_ns = 2'000'000'000;
  draft.figures = {{"processes", 1}};
  WindowMaker maker("memflame watch (test)", "host", true);
  const std::vector<Window> windows = maker.make({std::move(draft)}, room_for_names);
  REQUIRE(windows.size() == 1);
  const WindowHead& head = windows[0].head;
  CHECK(head.figures.at("processes") == 1);
  // Their addresses are in no file, so both stacks are cut, and read the same: they are one row.
  CHECK(head.figures.at("cut_stacks") == 2);
  REQUIRE(head.top.size() == 1);
  CHECK(head.top[0].inuse_bytes == 150);
  CHECK(head.top[0].growth_bytes == 150);
  Source source = Source::of_memory(windows[0].pprof);
  const Profile profile = read_profile(source, "pprof", {});
  REQUIRE(profile.types.size() == 4);
  CHECK(profile.types[0].name == "inuse_space");
  CHECK(profile.total(0) == 150);
  CHECK(profile.total(2) == 170);
  CHECK(profile.meta.host == "host");
}
