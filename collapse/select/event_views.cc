// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/select/event_views.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "collapse/select/block_sums.h"
#include "collapse/select/selection.h"
#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

constexpr size_t figures_of_column_pairs = 2;

[[noreturn]] void refuse(const std::string& why) { throw Error(why, ExitCode::usage); }

// "90 s", "0.0125 s"
std::string exact_seconds(uint64_t time_ns) {
  std::string text = plain(static_cast<int64_t>(std::min<uint64_t>(time_ns, INT64_MAX)), 9);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text + " s";
}

// What a block adds to the figures of its stack: -1, 0 or 1 times itself.
struct Contribution {
  int live = 0;   // also of views with one pair of columns
  int total = 0;  // of views with two
  bool is_any() const { return live != 0 || total != 0; }
};

class BlocksView {
 public:
  BlocksView(BlockSource& source, const HistoryRange& range)
      : view_(range.view), facts_(source.facts()) {
    const bool between = range.from_ns || range.until_ns;
    if (view_ == HistoryView::standard) view_ = between ? HistoryView::growth : HistoryView::live;
    require_times(range, between);
    if (view_ == HistoryView::transient && !facts_.culled.empty())
      refuse("--view transient: the recording was made with --cull, which leaves such blocks out");
    from_ns_ = range.from_ns;
    until_ns_ =
        std::min(range.at_ns.value_or(range.until_ns.value_or(facts_.end_ns)), facts_.end_ns);
    survive_ns_ = between ? facts_.end_ns : until_ns_;
    is_whole_run_ = !between && !range.at_ns;
    if (view_ == HistoryView::peak) until_ns_ = peak_ns_of(source);
    if (from_ns_ && *from_ns_ > until_ns_)
      throw Error("the recording ends after " + exact_seconds(facts_.end_ns) +
                  ": --between begins later");
  }

  HistoryView view() const { return view_; }
  bool is_whole_run() const { return is_whole_run_; }
  bool has_two_pairs() const {
    return view_ == HistoryView::live || view_ == HistoryView::total ||
           view_ == HistoryView::growth || view_ == HistoryView::survivors;
  }
  uint64_t from_ns() const { return from_ns_.value_or(0); }
  double seconds() const { return static_cast<double>(until_ns_ - from_ns_.value_or(0)) / 1e9; }

  Contribution share_of(const Block& block) const {
    const int born = is_behind_from(block.allocated_ns) && block.allocated_ns <= until_ns_ ? 1 : 0;
    switch (view_) {
      case HistoryView::leaked:
        return {.live = block.leaked() ? born : 0};
      case HistoryView::freed:
        return {.live = ends_within(block) ? 1 : 0};
      case HistoryView::transient:
        return {.live = block.transient ? born : 0};
      case HistoryView::churn:
        return {.live = ends_within(block) ? born : 0};
      case HistoryView::peak:
        return {.live = lives_at(block, until_ns_) ? 1 : 0};
      case HistoryView::survivors:
        return {.live = lives_at(block, survive_ns_) ? born : 0, .total = born};
      default:
        break;
    }
    const int before = from_ns_ && lives_at(block, *from_ns_) ? 1 : 0;
    return {.live = (lives_at(block, until_ns_) ? 1 : 0) - before, .total = born};
  }

  std::string note() const {
    if (view_ == HistoryView::peak)
      return "the first maximum of live memory is at " + exact_seconds(until_ns_);
    if (is_whole_run_) return {};
    if (!from_ns_) return "figures at " + exact_seconds(until_ns_);
    return "from " + exact_seconds(*from_ns_) + " to " + exact_seconds(until_ns_);
  }

 private:
  void require_times(const HistoryRange& range, bool between) const {
    if (range.at_ns && between) refuse("--at and --between are mutually exclusive");
    if (between && range.from_ns.value_or(0) >= range.until_ns.value_or(UINT64_MAX))
      refuse("--between " + exact_seconds(range.from_ns.value_or(0)) + ".." +
             exact_seconds(*range.until_ns) + ": the first time must be before the second");
    if (between && view_ == HistoryView::live)
      refuse("--view live shows one instant: use it with --at, or use --view growth");
    if ((between || range.at_ns) && view_ == HistoryView::peak)
      refuse("--view peak shows an instant of its own: use it without --at and --between");
  }

  bool is_behind_from(uint64_t time_ns) const { return !from_ns_ || time_ns > *from_ns_; }
  bool ends_within(const Block& block) const {
    return !block.leaked() && is_behind_from(block.freed_ns) && block.freed_ns <= until_ns_;
  }
  static bool lives_at(const Block& block, uint64_t time_ns) {
    return block.allocated_ns <= time_ns && block.freed_ns > time_ns;
  }

  HistoryView view_;
  const RunFacts facts_;
  std::optional<uint64_t> from_ns_;
  uint64_t until_ns_ = 0, survive_ns_ = 0;
  bool is_whole_run_ = false;
};

// The figures of one stack, by pair of columns.
struct StackSums {
  std::array<BlockSums, figures_of_column_pairs> pairs{};
  int64_t events = 0;

  void add(const Block& block, const Contribution& share, bool is_sampled) {
    pairs[0].add(block, share.live, is_sampled);
    pairs[1].add(block, share.total, is_sampled);
    ++events;
  }
};

std::vector<ValueType> types_of(const BlocksView& view, bool is_sampled) {
  std::vector<ValueType> types;
  const auto add_pair = [&](const std::string& name) {
    types.push_back({name, Unit::bytes});
    types.push_back({name + "-count", Unit::count});
  };
  add_pair(view.has_two_pairs() ? "live" : name_of(view.view()));
  if (view.has_two_pairs()) add_pair("total");
  if (is_sampled) add_variances(types);
  return types;
}

std::vector<int64_t> values_of(const StackSums& sums, size_t pairs, bool is_sampled) {
  std::vector<int64_t> values;
  for (size_t i = 0; i < pairs; ++i)
    values.insert(values.end(), {sums.pairs[i].bytes, sums.pairs[i].blocks});
  for (size_t i = 0; is_sampled && i < pairs; ++i)
    values.insert(values.end(),
                  {sums.pairs[i].bytes_variance_figure(), sums.pairs[i].blocks_variance_figure()});
  return values;
}

std::vector<std::string> notes_of(const BlocksView& view, const Query& query,
                                  const BlockTally& tally) {
  std::vector<std::string> notes = notes_of(query, tally);
  if (!view.note().empty()) notes.insert(notes.begin(), view.note());
  return notes;
}

}  // namespace

ViewFigures figures_of_blocks(BlockSource& source, const HistoryRange& range, const Query& query) {
  const BlocksView view(source, range);
  const Selection selection = selection_of(query, source);
  const RunFacts facts = source.facts();
  const bool is_sampled = !facts.recording.meta.sampling.empty();
  std::vector<StackSums> sums(facts.recording.stacks.size());
  BlockTally tally;
  source.for_each_block([&](const Block& block, const Chain& chain) {
    const Contribution share = view.share_of(block);
    if (!share.is_any()) return;
    const bool is_selected = selection(block, chain);
    tally.add(block, is_selected);
    if (is_selected && block.stack.index < sums.size())
      sums[block.stack.index].add(block, share, is_sampled);
  });
  ViewFigures figures{
      .types = types_of(view, is_sampled),
      .notes = notes_of(view, query, tally),
      .seconds = view.seconds(),
      .from_ns = view.from_ns(),
      .is_whole = view.is_whole_run() && query.empty() && view.view() == HistoryView::live};
  const size_t pairs = view.has_two_pairs() ? 2 : 1;
  if (view.view() == HistoryView::total) figures.shown = 2;
  for (uint32_t i = 0; i < sums.size(); ++i)
    if (sums[i].events != 0)
      figures.sums.push_back({.stack = RawStackId{i},
                              .group = {},
                              .values = values_of(sums[i], pairs, is_sampled),
                              .events = sums[i].events});
  return figures;
}

}  // namespace memflame
