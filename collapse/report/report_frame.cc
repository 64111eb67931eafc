// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/report/report_frame.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "collapse/fold/fold.h"
#include "collapse/history/timeline.h"
#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

uint64_t end_of(const EventGap& gap, uint64_t end_ns) { return std::min(gap.until_ns, end_ns); }

std::string counted(size_t count, const char* one) {
  return with_commas(static_cast<int64_t>(count)) + " " + one + (count == 1 ? " is" : "s are");
}

}  // namespace

std::vector<uint64_t> exact_times(const History& history, uint64_t peak_ns) {
  std::vector<uint64_t> times{peak_ns};
  for (const Mark& mark : history.marks) times.push_back(mark.time_ns);
  for (const EventGap& gap : history.gaps) times.insert(times.end(), {gap.from_ns, gap.until_ns});
  return times;
}

void set_moments(Report& report, const ReportBins& bins, const History& history, uint64_t peak_ns,
                 bool snaps, std::vector<std::string>& notes) {
  report.edges = bins.edges();
  report.peak = bins.nearest(peak_ns);
  const uint64_t end_ns = report.edges.back();
  size_t moved_marks = 0, wider_gaps = 0;
  for (const Mark& mark : history.marks) {
    // The lines have those that were set after the last figures.
    if (mark.time_ns > end_ns) continue;
    report.marks.push_back({bins.nearest(mark.time_ns), mark.name});
    if (!bins.has(mark.time_ns)) ++moved_marks;
  }
  for (const EventGap& gap : history.gaps) {
    const uint64_t until_ns = end_of(gap, end_ns);
    if (gap.from_ns >= until_ns) continue;
    report.gaps.push_back({bins.last_until(gap.from_ns), bins.first_from(until_ns), gap.events});
    if (!bins.has(gap.from_ns) || !bins.has(until_ns)) ++wider_gaps;
  }
  if (snaps) return;
  if (moved_marks != 0)
    notes.push_back("there are too many markers for all to be where they should be: " +
                    counted(moved_marks, "marker") + " shown at the nearest edge");
  if (wider_gaps != 0)
    notes.push_back("there are too many gaps for all to end where they should: " +
                    counted(wider_gaps, "gap") + " shown to the next edges");
}

Timeline lines_of(const History& history) {
  Timeline lines = timeline_of(history, {.top = 0});
  lines.bands.clear();
  return lines;
}

void drop_source_folders(Recording& recording) {
  std::map<const Symbol*, SymbolList> shortened;  // locations share their symbols
  std::vector<SymbolList> kept;
  for (Location& location : recording.locations) {
    if (location.symbols.empty()) continue;
    SymbolList& list = shortened[location.symbols.all().data()];
    if (list.empty()) {
      std::vector<Symbol> symbols(location.symbols.begin(), location.symbols.end());
      for (Symbol& symbol : symbols) symbol.file.erase(0, symbol.file.rfind('/') + 1);
      list = std::move(symbols);
    }
    // What was there is kept until the end, so that nothing else gets its address.
    std::swap(location.symbols, kept.emplace_back(list));
  }
}

void set_rows(Report& report, const Recording& recording, const std::optional<JudgedRun>& judged,
              const std::vector<RawReportRow>& rows, const std::vector<int64_t>& values) {
  std::vector<StackId> stacks;
  report.profile = fold(recording, {.lines = true}, &stacks);
  if (judged) report.profile.marks = marks_of(*judged, recording, report.profile, stacks);
  // What came and went is 0 in the end, and has rows all the same.
  const std::vector<int64_t> nothing(recording.types.size(), 0);
  for (const StackId stack : stacks) report.profile.add(stack, nothing);

  std::vector<uint32_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](uint32_t i) {
    return std::tuple(stacks[rows[i].sum], rows[i].born, rows[i].freed);
  };
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return key(a) < key(b); });
  const size_t columns = recording.types.size();
  report.rows.reserve(rows.size());
  report.values.reserve(values.size());
  for (const uint32_t i : order) {
    const std::span<const int64_t> own = std::span(values).subspan(i * columns, columns);
    const ReportRow row{stacks[rows[i].sum], rows[i].born, rows[i].freed};
    if (report.rows.empty() || report.rows.back() != row) {
      report.rows.push_back(row);
      report.values.insert(report.values.end(), own.begin(), own.end());
      continue;
    }
    int64_t* sums = report.values.data() + report.values.size() - columns;
    for (size_t column = 0; column < columns; ++column)
      if (!add_to(sums[column], own[column], recording.types[column].unit))
        throw Error("a sum of '" + recording.types[column].name + "' does not fit in 64 bits");
  }
}

}  // namespace memflame
