// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/select/event_views.h"

#include <doctest/doctest.h>

#include <random>

#include "core/error.h"
#include "tests/collapse/select/made_run.h"

using namespace memflame;  // NOLINT(google-build-using-namespace)

namespace {

using Values = std::vector<int64_t>;
constexpr uint64_t s = seconds_ns;

// The run's only stack; empty if it has no blocks in the view.
Values values_of(const ViewFigures& figures) {
  return figures.sums.empty() ? Values{} : figures.sums.front().values;
}

// Sizes are powers of two, so that a sum says which blocks it is made of.
struct Lives : MadeRun {
  Lives() {
    const RawStackId f = stack({"main", "f"});
    add({.allocated_ns = 1 * s, .size = 1, .stack = f});                       // leaked
    add({.allocated_ns = 2 * s, .freed_ns = 3 * s, .size = 2, .stack = f});    // before
    add({.allocated_ns = 4 * s, .freed_ns = 15 * s, .size = 4, .stack = f});   // into
    add({.allocated_ns = 10 * s, .freed_ns = 20 * s, .size = 8, .stack = f});  // at the edges
    add({.allocated_ns = 12 * s, .freed_ns = 14 * s, .size = 16, .stack = f, .transient = true});
    add({.allocated_ns = 20 * s, .freed_ns = 30 * s, .size = 32, .stack = f});    // at the end
    add({.allocated_ns = 16 * s, .freed_ns = 40 * s, .size = 64, .stack = f});    // out of it
    add({.allocated_ns = 18 * s, .size = 128, .stack = f});                       // leaked
    add({.allocated_ns = 50 * s, .freed_ns = 100 * s, .size = 256, .stack = f});  // freed at end
  }
  Values of(HistoryRange range, const std::string& where = "") {
    Query query;
    if (!where.empty()) add_where(query, "--where", where);
    return values_of(figures_of_blocks(*this, range, query));
  }
};

HistoryRange at(uint64_t time, HistoryView view = HistoryView::standard) {
  return {.at_ns = time, .view = view};
}
HistoryRange between(HistoryView view) {
  return {.from_ns = 10 * s, .until_ns = 20 * s, .view = view};
}

}  // namespace

TEST_CASE("live: allocated until then, freed later") {
  Lives run;
  CHECK(run.of({}) == Values{129, 2, 511, 9});
  CHECK(run.of({.view = HistoryView::live}) == Values{129, 2, 511, 9});
  CHECK(run.of(at(3 * s)) == Values{1, 1, 3, 2});
  CHECK(run.of(at(3 * s - 1)) == Values{3, 2, 3, 2});
  CHECK(run.of(at(20 * s)) == Values{1 + 32 + 64 + 128, 4, 255, 8});
  CHECK(run.of(at(0)).empty());
  CHECK(run.of(at(999 * s)) == Values{129, 2, 511, 9});
}

TEST_CASE("between two times: growth, what was allocated, what survives") {
  Lives run;
  // At 10 s blocks 1, 4 and 8 live, at 20 s 1, 32, 64 and 128.
  const Values growth{32 + 64 + 128 - 4 - 8, 1, 16 + 32 + 64 + 128, 4};
  CHECK(run.of(between(HistoryView::standard)) == growth);
  CHECK(run.of(between(HistoryView::growth)) == growth);
  CHECK(run.of(between(HistoryView::total)) == growth);
  CHECK(run.of(between(HistoryView::survivors)) == Values{128, 1, 16 + 32 + 64 + 128, 4});
  CHECK(run.of(at(20 * s, HistoryView::survivors)) == Values{225, 4, 255, 8});
  CHECK(run.of({.from_ns = 10 * s}) == Values{129 - 13, -1, 496, 5});
  CHECK(run.of({.until_ns = 10 * s}) == Values{13, 3, 15, 4});
}

TEST_CASE("a view says when its figures begin, and how long that is") {
  Lives run;
  const auto figures = [&](const HistoryRange& range) {
    const ViewFigures made = figures_of_blocks(run, range, {});
    return std::pair(made.from_ns, made.seconds);
  };
  CHECK(figures({}) == std::pair(uint64_t{0}, 100.0));
  CHECK(figures(at(20 * s)) == std::pair(uint64_t{0}, 20.0));
  CHECK(figures(between(HistoryView::freed)) == std::pair(10 * s, 10.0));
  CHECK(figures({.from_ns = 30 * s}) == std::pair(30 * s, 70.0));
}

TEST_CASE("leaked, freed, transient and churn") {
  Lives run;
  CHECK(run.of({.view = HistoryView::leaked}) == Values{129, 2});
  CHECK(run.of(between(HistoryView::leaked)) == Values{128, 1});
  CHECK(run.of(at(10 * s, HistoryView::leaked)) == Values{1, 1});
  CHECK(run.of({.view = HistoryView::freed}) == Values{382, 7});
  CHECK(run.of(between(HistoryView::freed)) == Values{4 + 8 + 16, 3});
  CHECK(run.of({.view = HistoryView::transient}) == Values{16, 1});
  CHECK(run.of(at(11 * s, HistoryView::transient)).empty());
  CHECK(run.of({.view = HistoryView::churn}) == Values{382, 7});
  CHECK(run.of(between(HistoryView::churn)) == Values{16, 1});
  CHECK(run.of(at(14 * s, HistoryView::churn)) == Values{2 + 16, 2});
}

TEST_CASE("the peak is that of the whole run, before anything is selected") {
  Lives run;
  CHECK(run.of({.view = HistoryView::peak}) == Values{1 + 128 + 256, 3});
  CHECK(run.of({.view = HistoryView::peak}, "size < 100") == Values{1, 1});
}

TEST_CASE("only what is selected is shown, and the note says how much that is") {
  Lives run;
  CHECK(run.of({}, "size > 1") == Values{128, 1, 510, 8});
  Query query;
  add_let(query, "--let", "big=size > 100");
  add_where(query, "--where", "big\nor leaked");
  const ViewFigures figures = figures_of_blocks(run, {.view = HistoryView::freed}, query);
  CHECK(figures.notes ==
        std::vector<std::string>{
            "selected by --where big or leaked --let big=size > 100: 1 of 7 blocks"});
  CHECK_FALSE(figures.is_whole);
  CHECK(figures.types ==
        std::vector<ValueType>{{"freed", Unit::bytes}, {"freed-count", Unit::count}});
}

TEST_CASE("columns, and what they are shown with") {
  Lives run;
  const ViewFigures whole = figures_of_blocks(run, {}, {});
  CHECK(whole.is_whole);
  CHECK(whole.seconds == 100);
  CHECK(whole.shown == 0);
  CHECK(whole.types == std::vector<ValueType>{{"live", Unit::bytes},
                                              {"live-count", Unit::count},
                                              {"total", Unit::bytes},
                                              {"total-count", Unit::count}});
  CHECK(whole.notes.empty());
  const ViewFigures total = figures_of_blocks(run, between(HistoryView::total), {});
  CHECK(total.shown == 2);
  CHECK(total.seconds == 10);
  CHECK(total.notes == std::vector<std::string>{"from 10 s to 20 s"});
  CHECK(figures_of_blocks(run, {.view = HistoryView::peak}, {}).notes ==
        std::vector<std::string>{"the first maximum of live memory is at 50 s"});
}

TEST_CASE("blocks whose times are not exact are told") {
  Lives run;
  run.blocks[0].first.uncertain = true;
  CHECK(figures_of_blocks(run, at(12'500'000), {}).notes ==
        std::vector<std::string>{"figures at 0.0125 s"});
  CHECK(figures_of_blocks(run, {}, {}).notes.back().starts_with("1 of the blocks began or ended"));
}

TEST_CASE("sampled blocks count as those they stand for, with their errors") {
  MadeRun run;
  run.recording.meta.sampling = "one block per 64 KiB";
  const RawStackId f = run.stack({"f"});
  run.add({.size = 1024, .weight = 4096, .count = 4, .stack = f});
  run.add({.freed_ns = s, .size = 1 << 20, .weight = 0, .count = 1, .stack = f});
  const ViewFigures figures = figures_of_blocks(run, {}, {});
  REQUIRE(figures.types.size() == 8);
  CHECK(figures.types[0].variance == 4);
  CHECK(figures.types[3].variance == 7);
  // 4096 * (4096 - 1024) is 12 units of 2^20 bytes squared; the other block is exact.
  CHECK(values_of(figures) == Values{4096, 4, 4096 + (1 << 20), 5, 12, 12, 12, 12});
}

TEST_CASE("what does not go together is refused") {
  Lives run;
  const auto refusal_of = [&](const HistoryRange& range) {
    try {
      figures_of_blocks(run, range, {});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal_of(between(HistoryView::live)).starts_with("--view live shows one instant"));
  CHECK(refusal_of(between(HistoryView::peak)).starts_with("--view peak shows an instant of its"));
  CHECK(refusal_of(at(s, HistoryView::peak)).starts_with("--view peak"));
  CHECK(refusal_of({.at_ns = s, .from_ns = s}).find("exclusive") != std::string::npos);
  CHECK(refusal_of({.from_ns = 2 * s, .until_ns = s}) ==
        "--between 2 s..1 s: the first time must be before the second");
  CHECK(refusal_of({.from_ns = 200 * s, .until_ns = 300 * s}).starts_with("the recording ends"));
}

TEST_CASE("sums that do not fit are errors") {
  MadeRun run;
  const RawStackId f = run.stack({"f"});
  for (int i = 0; i < 2; ++i) run.add({.size = uint64_t{1} << 62U, .stack = f});
  CHECK_THROWS_WITH(figures_of_blocks(run, {}, {}), "a sum of blocks does not fit in 64 bits");
  MadeRun one;
  one.add({.size = UINT64_MAX, .stack = one.stack({"f"})});
  CHECK_THROWS_AS(figures_of_blocks(one, {}, {}), Error);
}

TEST_CASE("views of random runs add up") {
  std::mt19937_64 random(5);  // NOLINT(bugprone-random-generator-seed): the same each time
  for (int round = 0; round < 500; ++round) {
    MadeRun run;
    run.end_ns = 30;
    const RawStackId f = run.stack({"f"});
    for (uint64_t i = random() % 10; i > 0; --i) {
      const uint64_t allocated = random() % 25;
      Block block{.allocated_ns = allocated, .size = random() % 9, .stack = f};
      if (random() % 2 == 0) block.freed_ns = allocated + random() % 5;
      run.add(block);
    }
    const uint64_t from = random() % 20, until = from + 1 + random() % 9;
    const auto get = [&](const HistoryRange& range) {
      Values values = values_of(figures_of_blocks(run, range, {}));
      values.resize(4);
      return values;
    };
    const Values before = get({.at_ns = from}), after = get({.at_ns = until});
    const Values growth = get({.from_ns = from, .until_ns = until});
    const Values whole = get({}), leaked = get({.view = HistoryView::leaked}),
                 freed = get({.view = HistoryView::freed});
    for (size_t i = 0; i < 4; ++i) CHECK(growth[i] == after[i] - before[i]);
    for (size_t i = 0; i < 2; ++i) CHECK(leaked[i] + freed[i] == whole[2 + i]);
    // The peak, against all times.
    const Values peak = get({.view = HistoryView::peak});
    int64_t most = 0;
    for (uint64_t time = 0; time <= 30; ++time) most = std::max(most, get({.at_ns = time})[0]);
    CHECK(peak[0] == most);
  }
}
