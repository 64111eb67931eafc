// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "collapse/report/report_bins.h"
#include "collapse/report/report_cells.h"
#include "collapse/report/report_frame.h"
#include "collapse/report/report_of.h"
#include "collapse/select/block_sums.h"
#include "collapse/select/selection.h"
#include "collapse/verdicts/marks.h"
#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

using BlockCells = ReportCells<BlockSums>;

uint8_t floor_log2(uint64_t number) {
  return number == 0 ? 0 : static_cast<uint8_t>(std::bit_width(number) - 1);
}

// Shapes count as rows: both take room in the page.
class BlockSorter {
 public:
  BlockSorter(ReportBins& bins, size_t most_rows, bool is_sampled)
      : bins_(bins), most_rows_(most_rows), is_sampled_(is_sampled) {}

  // Whether the block belongs to the run.
  bool is_within(const Block& block) const { return block.allocated_ns <= bins_.edges().back(); }

  void add(const Block& block) {
    const auto born = static_cast<uint16_t>(bins_.bin_of(block.allocated_ns));
    const auto freed = block.freed_ns > bins_.edges().back()
                           ? BlockCells::never
                           : static_cast<uint16_t>(bins_.bin_of(block.freed_ns));
    rows_.at(block.stack.index, born, freed).add(block, 1, is_sampled_);
    const auto shape =
        static_cast<uint32_t>(floor_log2(block.lifetime_ns()) << 8U | floor_log2(block.size));
    shapes_.at(shape, born, freed).add(block, 1, false);
    while (can_halve_ && rows_.size() + shapes_.size() > most_rows_) halve();
  }

  std::vector<BlockCells::Cell> take_rows() { return rows_.take_sorted(); }
  std::vector<BlockCells::Cell> take_shapes() { return shapes_.take_sorted(); }

 private:
  void halve() {
    const std::vector<uint32_t> bins = bins_.halve();
    can_halve_ = !bins.empty();
    if (!can_halve_) return;
    rows_.move(bins);
    shapes_.move(bins);
  }

  ReportBins& bins_;
  const size_t most_rows_;
  const bool is_sampled_;
  bool can_halve_ = true;
  BlockCells rows_, shapes_;
};

std::vector<ValueType> types_of_blocks(bool is_sampled) {
  std::vector<ValueType> types{{"bytes", Unit::bytes}, {"blocks", Unit::count}};
  if (is_sampled) add_variances(types);
  return types;
}

uint32_t as_bin(uint16_t freed) { return freed == BlockCells::never ? ReportRow::never : freed; }

std::vector<int64_t> values_of(const BlockSums& sums, bool is_sampled) {
  if (!is_sampled) return {sums.bytes, sums.blocks};
  return {sums.bytes, sums.blocks, sums.bytes_variance_figure(), sums.blocks_variance_figure()};
}

struct SplitCells {
  std::vector<Aggregate> sums;  // of each stack that has rows
  std::vector<RawReportRow> rows;
  std::vector<int64_t> values;
};

// `cells` are by stack.
SplitCells split(const std::vector<BlockCells::Cell>& cells, const std::vector<ValueType>& types,
                 bool is_sampled) {
  SplitCells all;
  all.rows.reserve(cells.size());
  all.values.reserve(cells.size() * types.size());
  for (const BlockCells::Cell& cell : cells) {
    if (all.sums.empty() || all.sums.back().stack.index != cell.owner)
      all.sums.push_back({.stack = RawStackId{cell.owner},
                          .group = {},
                          .values = std::vector<int64_t>(types.size(), 0)});
    Aggregate& sum = all.sums.back();
    const std::vector<int64_t> own = values_of(cell.sums, is_sampled);
    for (size_t i = 0; i < own.size(); ++i)
      if (!add_to(sum.values[i], own[i], types[i].unit))
        throw Error("a sum of blocks does not fit in 64 bits");
    sum.events += cell.sums.blocks;
    all.rows.push_back({.sum = static_cast<uint32_t>(all.sums.size() - 1),
                        .born = cell.born,
                        .freed = as_bin(cell.freed)});
    all.values.insert(all.values.end(), own.begin(), own.end());
  }
  return all;
}

std::vector<ReportShape> shapes_of(const std::vector<BlockCells::Cell>& cells) {
  std::vector<ReportShape> shapes;
  shapes.reserve(cells.size());
  for (const BlockCells::Cell& cell : cells)
    shapes.push_back({.lifetime = static_cast<uint8_t>(cell.owner >> 8U),
                      .size = static_cast<uint8_t>(cell.owner),
                      .born = cell.born,
                      .freed = as_bin(cell.freed),
                      .bytes = cell.sums.bytes,
                      .blocks = cell.sums.blocks});
  return shapes;
}

}  // namespace

Report report_of_blocks(BlockSource& source, History& history, const ReportOptions& options) {
  Report report;
  report.kind = Report::Kind::blocks;
  const Selection selection = selection_of(options.selection, source);
  const uint64_t peak_ns = peak_ns_of(source);
  const RunFacts facts = source.facts();
  const bool is_sampled = !facts.recording.meta.sampling.empty();
  ReportBins bins = ReportBins::even(std::max<uint64_t>(facts.end_ns, 1), options.bins,
                                     exact_times(history, peak_ns), steps_of(options));
  BlockSorter sorter(bins, options.most_rows, is_sampled);
  BlockTally tally;
  const size_t stacks = facts.recording.stacks.size();
  source.for_each_block([&](const Block& block, const Chain& chain) {
    if (block.stack.index >= stacks || !sorter.is_within(block)) return;
    const bool is_selected = selection(block, chain);
    tally.add(block, is_selected);
    if (is_selected) sorter.add(block);
  });
  if (tally.all_blocks == 0)
    throw Error("the recording has no block: nothing was allocated while its events were recorded");
  if (tally.blocks == 0)
    throw Error("no block is selected by " + words_of(options.selection) + ": the recording has " +
                with_commas(static_cast<int64_t>(std::min<uint64_t>(tally.all_blocks, INT64_MAX))) +
                " others");
  report.lines = lines_of(history);
  report.sums = sums_at_end(history);
  // Verdicts judge all blocks of a stack.
  std::optional<JudgedRun> judged;
  if (options.selection.empty()) judged = judged_run(history, history.recording.stacks, {});

  ViewFigures figures{.types = types_of_blocks(is_sampled),
                      .notes = notes_of(options.selection, tally),
                      .seconds = static_cast<double>(facts.end_ns) / 1e9,
                      .is_whole = options.selection.empty()};
  set_moments(report, bins, history, peak_ns, false, figures.notes);
  SplitCells cells = split(sorter.take_rows(), figures.types, is_sampled);
  report.shapes = shapes_of(sorter.take_shapes());
  figures.sums = std::move(cells.sums);
  Recording recording = with_figures(std::move(history.recording), std::move(figures));
  if (!options.source_folders) drop_source_folders(recording);
  set_rows(report, recording, judged, cells.rows, cells.values);
  return report;
}

}  // namespace memflame
