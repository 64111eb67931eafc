// SPDX-License-Identifier: BSD-2-Clause
// Sums in SQL are those that views and a naive fold have, of runs that are made up.
#include <doctest/doctest.h>

#include <map>

#include "collapse/select/event_blocks.h"
#include "collapse/select/event_views.h"
#include "tests/collapse/events/made_events.h"
#include "tests/collapse/events/naive_fold.h"
#include "tests/collapse/query/queried_run.h"
#include "tests/support/scaled.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

class FoldedRun : public BlockSource {
 public:
  FoldedRun(const History& history, const MadeUpEvents& made) : history_(history), made_(made) {}

  RunFacts facts() const override {
    return {.recording = history_.recording,
            .threads = history_.threads,
            .marks = history_.marks,
            .end_ns = made_.end_ns};
  }
  bool has_addresses() override { return true; }
  bool has_free_stacks() override { return true; }
  void for_each_block(const VisitBlock& visit) override {
    BlockFold fold(history_, visit);
    hand_on(made_.items, fold);
    fold.finish(made_.end_ns);
  }

 private:
  const History& history_;
  const MadeUpEvents& made_;
};

// As the query below says it.
std::string sums_text(const ViewFigures& figures, size_t column) {
  std::string text;
  for (const Aggregate& sum : figures.sums)
    if (sum.values[column + 1] != 0)
      text += std::to_string(sum.stack.index) + "|" + std::to_string(sum.values[column]) + "|" +
              std::to_string(sum.values[column + 1]) + ";";
  return text;
}

std::string sums_where(QueriedRun& queried, const std::string& condition) {
  return queried.ask("select stack, sum(bytes), sum(count) from blocks where " + condition +
                     " group by stack order by stack");
}

std::string totals_of(const std::vector<std::pair<Block, Chain>>& blocks) {
  uint64_t sizes = 0, lifetimes = 0, leaked = 0, lengths = 0, moved = 0, transient = 0;
  for (const auto& [block, chain] : blocks) {
    sizes += block.size;
    lifetimes += block.lifetime_ns();
    leaked += block.leaked() ? block.size : 0;
    lengths += chain.length;
    moved += block.moved ? 1 : 0;
    transient += block.transient ? 1 : 0;
  }
  std::string text = std::to_string(blocks.size());
  for (const uint64_t sum : {sizes, lifetimes, leaked, lengths, moved, transient})
    text += "|" + std::to_string(sum);
  return text + ";";
}

}  // namespace

TEST_CASE("sums in SQL are those of views and of a naive fold") {
  for (unsigned seed = 1; seed <= scaled(300); ++seed) {
    CAPTURE(seed);
    const MadeUpEvents made({.seed = seed, .calls = 20 + seed % 200, .gaps = seed % 3 != 0});
    History history = history_of_events();
    FoldedRun run(history, made);
    QueriedRun queried(&run);
    queried.history = history;
    const auto figures = [&](HistoryView view) {
      return figures_of_blocks(run, {.view = view}, {});
    };
    CHECK(sums_where(queried, "leaked") == sums_text(figures(HistoryView::leaked), 0));
    CHECK(sums_where(queried, "not leaked") == sums_text(figures(HistoryView::freed), 0));
    CHECK(sums_where(queried, "transient") == sums_text(figures(HistoryView::transient), 0));
    CHECK(sums_where(queried, "1") == sums_text(figures(HistoryView::total), 2));
    const uint64_t half = made.end_ns / 2;
    const std::string at = std::to_string(half);
    CHECK(sums_where(queried, "allocated_ns <= " + at + " and ifnull(freed_ns > " + at + ", 1)") ==
          sums_text(figures_of_blocks(run, {.at_ns = half}, {}), 0));
    CHECK(queried.ask("select count(*), ifnull(sum(size), 0), ifnull(sum(lifetime_ns), 0), "
                      "ifnull(sum(size) filter (where leaked), 0), ifnull(sum(chain_length), 0), "
                      "ifnull(sum(moved), 0), ifnull(sum(transient), 0) from blocks") ==
          totals_of(naive_blocks(made.items, history, made.end_ns)));
    // What SQL groups is what the columns of groups have.
    CHECK(queried.ask("select count(*) from (select stack, max(group_count) a, sum(count) b, "
                      "max(group_leaked) c, sum(count * leaked) d, max(group_span_ns) e, "
                      "max(allocated_ns) - min(allocated_ns) f from blocks group by stack) "
                      "where a <> b or c <> d or e <> f") == "0;");
  }
}
