// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <optional>
#include <utility>

#include "collapse/report/report_bins.h"
#include "collapse/report/report_frame.h"
#include "collapse/report/report_of.h"
#include "core/error.h"

namespace memflame {
namespace {

size_t shown_column(const Recording& recording) {
  const std::optional<BlockColumns> blocks = block_columns(recording.types);
  return blocks ? blocks->live : recording.shown;
}

// The figures of all tracks, look by look.
class FiguresBefore {
 public:
  explicit FiguresBefore(const History& history)
      : columns_(history.recording.types.size()), figures_(history.tracks.size() * columns_, 0) {}

  std::span<int64_t> of(TrackId track) {
    if (track.index * columns_ >= figures_.size())
      throw Error("the recording is damaged: a look has a stack that is not in it");
    return std::span(figures_).subspan(track.index * columns_, columns_);
  }
  void take(const Look::Row& row) {
    if (row.values.size() != columns_)
      throw Error("the recording is damaged: a look has another number of figures");
    std::copy(row.values.begin(), row.values.end(), of(row.track).begin());
  }

 private:
  const size_t columns_;
  std::vector<int64_t> figures_;
};

// When the sum of the shown figure first was the largest.
uint64_t peak_of(const History& history, size_t column) {
  __extension__ using Wide = __int128;
  Wide sum = 0, most = 0;
  uint64_t peak_ns = history.looks.front().time_ns;
  bool is_first = true;
  FiguresBefore figures(history);
  for (const Look& look : history.looks) {
    for (const Look::Row& row : look.rows) {
      sum -= figures.of(row.track)[column];
      figures.take(row);
      sum += row.values[column];
    }
    if (!is_first && sum <= most) continue;
    is_first = false;
    most = sum;
    peak_ns = look.time_ns;
  }
  return peak_ns;
}

std::vector<uint64_t> times_of_looks(const History& history) {
  std::vector<uint64_t> times;
  for (const Look& look : history.looks)
    if (look.time_ns > 0 && (times.empty() || look.time_ns > times.back()))
      times.push_back(look.time_ns);
  return times;
}

// Markers are shown at the nearest look. Around a gap, the look before and the look behind it.
std::vector<uint64_t> exact_looks(const std::vector<uint64_t>& looks, const History& history,
                                  uint64_t peak_ns) {
  const auto before = [&](uint64_t time_ns) {
    const auto after = std::upper_bound(looks.begin(), looks.end(), time_ns);
    return after == looks.begin() ? 0 : after[-1];
  };
  const auto after = [&](uint64_t time_ns) {
    const auto found = std::lower_bound(looks.begin(), looks.end(), time_ns);
    return found == looks.end() ? looks.back() : *found;
  };
  std::vector<uint64_t> times{peak_ns};
  for (const Mark& mark : history.marks) {
    const uint64_t first = before(mark.time_ns), second = after(mark.time_ns);
    times.push_back(second < mark.time_ns || mark.time_ns - first < second - mark.time_ns ? first
                                                                                          : second);
  }
  for (const EventGap& gap : history.gaps)
    times.insert(times.end(), {before(gap.from_ns), after(gap.until_ns)});
  return times;
}

struct Changes {
  std::vector<uint32_t> tracks;  // of the rows
  std::vector<uint32_t> born;
  std::vector<int64_t> values;  // row by row
};

// The changes of each bin; none if there are more rows than `most`.
std::optional<Changes> changes_within(const History& history, const ReportBins& bins, size_t most) {
  const std::vector<ValueType>& types = history.recording.types;
  Changes changes;
  FiguresBefore now(history), then(history);  // then: at the begin of the bin
  std::vector<TrackId> changed;
  size_t next = 0;
  for (uint32_t bin = 0; bin < bins.size(); ++bin) {
    changed.clear();
    for (; next < history.looks.size() && history.looks[next].time_ns <= bins.edges()[bin + 1];
         ++next)
      for (const Look::Row& row : history.looks[next].rows) {
        now.take(row);
        changed.push_back(row.track);
      }
    std::sort(changed.begin(), changed.end());
    changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
    for (const TrackId track : changed) {
      const std::span<int64_t> after = now.of(track), before = then.of(track);
      if (std::equal(after.begin(), after.end(), before.begin())) continue;
      if (changes.tracks.size() == most) return std::nullopt;
      changes.tracks.push_back(track.index);
      changes.born.push_back(bin);
      for (size_t i = 0; i < types.size(); ++i) {
        int64_t change = 0;
        if (__builtin_sub_overflow(after[i], before[i], &change))
          throw Error("a difference of '" + types[i].name + "' does not fit in 64 bits");
        changes.values.push_back(change);
      }
      std::copy(after.begin(), after.end(), before.begin());
    }
  }
  return changes;
}

Changes changes_of(const History& history, ReportBins& bins, size_t most) {
  while (true) {
    if (std::optional<Changes> changes = changes_within(history, bins, most))
      return std::move(*changes);
    if (bins.halve().empty()) most = SIZE_MAX;  // there are no edges that can be left out
  }
}

// The rows with their sums, whose values are the figures at the end.
std::vector<RawReportRow> rows_of(const Changes& changes, const History& history,
                                  std::vector<Aggregate>& sums) {
  const size_t columns = history.recording.types.size();
  const std::optional<BlockColumns> blocks = block_columns(history.recording.types);
  std::vector<uint32_t> sum_of_track(history.tracks.size(), UINT32_MAX);
  std::vector<RawReportRow> rows;
  rows.reserve(changes.tracks.size());
  for (size_t i = 0; i < changes.tracks.size(); ++i) {
    uint32_t& sum = sum_of_track[changes.tracks[i]];
    if (sum == UINT32_MAX) {
      sum = static_cast<uint32_t>(sums.size());
      const Track& track = history.tracks[changes.tracks[i]];
      sums.push_back(
          {.stack = track.stack, .group = track.group, .values = std::vector<int64_t>(columns, 0)});
    }
    Aggregate& all = sums[sum];
    // Changes add up to figures, so this cannot overflow.
    for (size_t column = 0; column < columns; ++column)
      all.values[column] += changes.values[i * columns + column];
    all.events = blocks ? all.values[blocks->total_count] : 1;
    rows.push_back({.sum = sum, .born = changes.born[i]});
  }
  return rows;
}

}  // namespace

Report report_of_changes(History& history, const ReportOptions& options) {
  Report report;
  report.kind = Report::Kind::changes;
  const std::vector<uint64_t> looks = times_of_looks(history);
  const auto has_rows = [](const Look& look) { return !look.rows.empty(); };
  if (looks.empty() || std::none_of(history.looks.begin(), history.looks.end(), has_rows))
    throw Error("none of the recording's looks has a figure of a stack: there is nothing to show");
  const size_t shown = shown_column(history.recording);
  const uint64_t peak_ns = peak_of(history, shown);
  ReportBins bins = ReportBins::among(looks, options.bins, exact_looks(looks, history, peak_ns),
                                      steps_of(options));
  const Changes changes = changes_of(history, bins, options.most_rows);
  report.lines = lines_of(history);
  report.sums = sums_at_end(history);
  const std::optional<JudgedRun> judged = judged_run(history, history.recording.stacks, {});

  ViewFigures figures{.types = history.recording.types,
                      .shown = shown,
                      .seconds = static_cast<double>(looks.back()) / 1e9,
                      .is_whole = true};
  set_moments(report, bins, history, peak_ns, true, figures.notes);
  const std::vector<RawReportRow> rows = rows_of(changes, history, figures.sums);
  Recording recording = with_figures(std::move(history.recording), std::move(figures));
  if (!options.source_folders) drop_source_folders(recording);
  set_rows(report, recording, judged, rows, changes.values);
  return report;
}

}  // namespace memflame
