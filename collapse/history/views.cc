// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/history/views.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

struct NamedView {
  std::string_view name;
  HistoryView view;
};
constexpr std::array named_views{
    NamedView{"live", HistoryView::live},     NamedView{"total", HistoryView::total},
    NamedView{"growth", HistoryView::growth}, NamedView{"survivors", HistoryView::survivors},
    NamedView{"leaked", HistoryView::leaked}, NamedView{"peak", HistoryView::peak},
    NamedView{"freed", HistoryView::freed},   NamedView{"transient", HistoryView::transient},
    NamedView{"churn", HistoryView::churn},
};

// "90 s", "90.5 s"
std::string in_seconds(uint64_t time_ns) {
  const auto tenths =
      static_cast<int64_t>((std::min<uint64_t>(time_ns, INT64_MAX / 2) + 50'000'000) / 100'000'000);
  return plain(tenths % 10 == 0 ? tenths / 10 : tenths, tenths % 10 == 0 ? 0 : 1) + " s";
}

using Figures = std::vector<int64_t>;  // by track, then by column

class View {
 public:
  View(const History& history, const HistoryRange& range)
      : history_(history), types_(history.recording.types), range_(range) {
    if (history.looks.empty()) throw Error("the recording has no look: there is nothing to show");
    view_ = range.view;
    if (view_ == HistoryView::standard)
      view_ = range.from_ns || range.until_ns ? HistoryView::growth
              : column("live")                ? HistoryView::live
                                              : HistoryView::standard;
    check();
    until_ns_ = range.at_ns      ? *range.at_ns
                : range.until_ns ? *range.until_ns
                                 : history.looks.back().time_ns;
  }

  ViewFigures run() {
    result_.types = types_;
    result_.shown = history_.recording.shown;
    if (view_ == HistoryView::survivors)
      survivors();
    else if (range_.from_ns || view_ == HistoryView::growth)
      between();
    else
      at();
    return std::move(result_);
  }

 private:
  std::optional<size_t> column(std::string_view name) const {
    const auto found = std::find_if(types_.begin(), types_.end(),
                                    [&](const ValueType& type) { return type.name == name; });
    if (found == types_.end()) return std::nullopt;
    return static_cast<size_t>(found - types_.begin());
  }

  [[noreturn]] static void refuse(const std::string& why) { throw Error(why, ExitCode::usage); }

  void check() const {
    const bool between = range_.from_ns || range_.until_ns;
    if (range_.at_ns && between) refuse("--at and --between are mutually exclusive");
    if (between && range_.from_ns.value_or(0) >= range_.until_ns.value_or(UINT64_MAX))
      refuse("--between " + in_seconds(range_.from_ns.value_or(0)) + ".." +
             in_seconds(*range_.until_ns) + ": the first time must be before the second");
    if (between && view_ == HistoryView::live)
      refuse("--view live shows one instant: use it with --at, or use --view growth");
    if (view_ >= HistoryView::leaked)
      refuse("--view " + name_of(view_) +
             " needs every event, and the recording has sums only; 'memflame record --detail "
             "events' keeps events");
    if (view_ == HistoryView::survivors && !block_columns(types_))
      refuse("--view survivors needs a recording of blocks (alloc, kernel); this one has " +
             columns());
    const bool has = view_ != HistoryView::live && view_ != HistoryView::total;
    if (!has && !column(name_of(view_)))
      refuse("--view " + name_of(view_) + ": the recording has no such figures; it has " +
             columns() + ", which --value chooses");
  }

  std::string columns() const {
    std::string names;
    for (const ValueType& type : types_)
      if (type.unit != Unit::variance) names += (names.empty() ? "" : ", ") + type.name;
    return names;
  }

  // How many looks are at or before this time.
  size_t looks_until(uint64_t time_ns) const {
    const auto after =
        std::upper_bound(history_.looks.begin(), history_.looks.end(), time_ns,
                         [](uint64_t time, const Look& look) { return time < look.time_ns; });
    return static_cast<size_t>(after - history_.looks.begin());
  }

  size_t last_look(uint64_t time_ns) const {
    const size_t count = looks_until(time_ns);
    if (count == 0)
      throw Error("there is no look until " + in_seconds(time_ns) + ": the first one is at " +
                  in_seconds(history_.looks.front().time_ns));
    return count - 1;
  }

  void apply(size_t first, size_t end, Figures& figures) const {
    for (size_t i = first; i < end; ++i)
      for (const Look::Row& row : history_.looks[i].rows)
        std::copy(row.values.begin(), row.values.end(),
                  figures.begin() + static_cast<ptrdiff_t>(row.track.index * types_.size()));
  }

  void show(HistoryView view) {
    if (const std::optional<size_t> found = column(name_of(view))) result_.shown = *found;
  }

  void note(std::string text) { result_.notes.push_back(std::move(text)); }

  // An estimate of how many events brought the values: used to count cut stacks only. Probes beside
  // that of blocks do not say how many: what they saw counts as one.
  int64_t events(std::span<const int64_t> values) const {
    const std::optional<size_t> count = column("total-count");
    if (!count) return 1;
    const auto others = values.subspan(others_.empty() ? values.size() : others_.front());
    const bool by_others =
        std::any_of(others.begin(), others.end(), [](int64_t value) { return value != 0; });
    return std::abs(values[*count]) + (by_others ? 1 : 0);
  }

  void add_sums(const Figures& figures) {
    for (uint32_t i = 1; i < history_.tracks.size(); ++i) {
      const auto values = std::span(figures).subspan(i * types_.size(), types_.size());
      if (std::all_of(values.begin(), values.end(), [](int64_t value) { return value == 0; }))
        continue;
      const Track& track = history_.tracks[i];
      result_.sums.push_back({.stack = track.stack,
                              .group = track.group,
                              .values = {values.begin(), values.end()},
                              .events = events(values)});
    }
  }

  void at() {
    const size_t last = last_look(until_ns_);
    Figures figures(history_.tracks.size() * types_.size(), 0);
    apply(0, last + 1, figures);
    add_sums(figures);
    if (view_ == HistoryView::live || view_ == HistoryView::total) show(view_);
    result_.is_whole = last + 1 == history_.looks.size() && !range_.at_ns;
    const uint64_t time_ns = history_.looks[last].time_ns;
    result_.seconds = static_cast<double>(time_ns) / 1e9;
    if (!result_.is_whole)
      note("figures at " + in_seconds(time_ns) + ", the last look until " + in_seconds(until_ns_));
  }

  void between() {
    const uint64_t from_ns = range_.from_ns.value_or(0);
    const size_t begin = looks_until(from_ns), last = last_look(until_ns_);
    if (begin > last)
      throw Error("there is no look from " + in_seconds(from_ns) + " to " + in_seconds(until_ns_) +
                  ": the nearest are at " + in_seconds(history_.looks[begin - 1].time_ns) +
                  (begin < history_.looks.size()
                       ? " and " + in_seconds(history_.looks[begin].time_ns)
                       : std::string(", the last one")));
    Figures before(history_.tracks.size() * types_.size(), 0);
    apply(0, begin, before);
    Figures figures = before;
    apply(begin, last + 1, figures);
    subtract(figures, before);
    add_sums(figures);
    if (view_ == HistoryView::total) show(view_);
    if (view_ == HistoryView::growth) show(HistoryView::live);
    const uint64_t first_ns = begin == 0 ? 0 : history_.looks[begin - 1].time_ns;
    result_.seconds = static_cast<double>(history_.looks[last].time_ns - first_ns) / 1e9;
    result_.from_ns = first_ns;
    note("what changed from " + in_seconds(first_ns) + " to " +
         in_seconds(history_.looks[last].time_ns));
  }

  // Columns that only grow, and their variances: those of the difference are the difference.
  // Otherwise what came and what went both add to the error, and the sum is an upper bound of it.
  std::vector<bool> only_grow() const {
    std::vector<bool> grow(types_.size(), false);
    for (const std::string_view name : {"total", "total-count"}) {
      const std::optional<size_t> found = column(name);
      if (!found) continue;
      grow[*found] = true;
      if (const size_t variance = types_[*found].variance; variance != no_column)
        grow[variance] = true;
    }
    return grow;
  }

  void subtract(Figures& figures, const Figures& before) const {
    const std::vector<bool> grow = only_grow();
    const size_t columns = types_.size();
    for (size_t row = 0; row < figures.size(); row += columns) {
      const std::span now = std::span(figures).subspan(row, columns);
      const std::span then = std::span(before).subspan(row, columns);
      const bool same = std::equal(now.begin(), now.end(), then.begin());
      for (size_t i = 0; i < columns; ++i) {
        if (!same && types_[i].unit == Unit::variance && !grow[i])
          static_cast<void>(add_to(now[i], then[i], Unit::variance));
        else if (__builtin_sub_overflow(now[i], then[i], &now[i]))
          throw Error("a difference of '" + types_[i].name + "' does not fit in 64 bits");
      }
    }
  }

  void survivors() {
    const uint64_t from_ns = range_.from_ns.value_or(0);
    const auto& looks = history_.looks;
    const auto found = std::find_if(looks.rbegin(), looks.rend(), [&](const Look& look) {
      return look.is_survey() && (!range_.at_ns || look.time_ns <= *range_.at_ns);
    });
    if (found == looks.rend())
      throw Error(
          "the recording has no survey of live blocks until then: --view survivors needs one");
    const Look& survey = *found;
    const auto end_of = [&](size_t i) {
      return i + 1 < survey.stretches.size() ? survey.stretches[i + 1] : survey.time_ns;
    };
    size_t first = 0;
    while (first < survey.stretches.size() && end_of(first) <= from_ns) ++first;
    size_t last = first;
    while (last < survey.stretches.size() && survey.stretches[last] < until_ns_) ++last;
    if (first == last)
      throw Error("the last survey of live blocks is at " + in_seconds(survey.time_ns) +
                  ": it has no blocks that were allocated after " + in_seconds(from_ns));
    const BlockColumns columns = *block_columns(types_);
    result_.types = {types_[columns.live], types_[columns.live_count]};
    for (ValueType& type : result_.types) {
      type.variance = no_column;
      type.variance_unit = 1;
    }
    result_.shown = 0;
    add_cells(survey, first, last);
    result_.seconds = static_cast<double>(end_of(last - 1) - survey.stretches[first]) / 1e9;
    result_.from_ns = survey.stretches[first];
    note("blocks allocated from " + in_seconds(survey.stretches[first]) + " to " +
         in_seconds(end_of(last - 1)) + " that were live at " + in_seconds(survey.time_ns));
    if (!history_.recording.meta.sampling.empty())
      note(
          "the blocks are samples: how far off the figures may be is not known for a stretch of "
          "time");
  }

  void add_cells(const Look& survey, size_t first, size_t last) {
    Aggregate sum;
    TrackId track;
    const auto flush = [&] {
      if (!sum.values.empty()) result_.sums.push_back(std::move(sum));
      sum = {};
    };
    for (const Look::Cell& cell : survey.cells) {
      if (cell.stretch < first || cell.stretch >= last) continue;
      if (cell.track != track || sum.values.empty()) {
        flush();
        track = cell.track;
        const Track& of = history_.tracks.at(track.index);
        sum = {.stack = of.stack, .group = of.group, .values = {0, 0}, .events = 0};
      }
      if (!add_to(sum.values[0], cell.bytes, Unit::bytes) ||
          !add_to(sum.values[1], cell.blocks, Unit::count))
        throw Error("a sum of live blocks does not fit in 64 bits");
      sum.events += cell.samples;
    }
    flush();
  }

  const History& history_;
  const std::vector<ValueType>& types_;
  const HistoryRange& range_;
  HistoryView view_;
  const std::vector<size_t> others_ = first_columns_of_probes(types_);
  uint64_t until_ns_ = 0;
  ViewFigures result_;
};

}  // namespace

bool parse_view(std::string_view text, HistoryView& view) {
  for (const NamedView& named : named_views) {
    if (named.name != text) continue;
    view = named.view;
    return true;
  }
  return false;
}

std::string name_of(HistoryView view) {
  for (const NamedView& named : named_views)
    if (named.view == view) return std::string(named.name);
  return "standard";
}

std::vector<std::string> view_names() {
  std::vector<std::string> names;
  names.reserve(named_views.size());
  for (const NamedView& named : named_views) names.emplace_back(named.name);
  return names;
}

Recording with_figures(Recording recording, ViewFigures figures) {
  recording.types = std::move(figures.types);
  recording.shown = figures.shown;
  recording.sums = std::move(figures.sums);
  recording.meta.seconds = figures.seconds;
  if (int64_t& began_ns = recording.meta.began_ns;
      began_ns != 0 && __builtin_add_overflow(began_ns, figures.from_ns, &began_ns))
    began_ns = 0;
  std::vector<std::string>& notes = recording.meta.notes;
  // What was compared, found and lost is that of the whole run.
  if (!figures.is_whole) {
    recording.meta.reconciliation.clear();
    recording.candidates.clear();
    if (recording.losses.any()) figures.notes.emplace_back("losses are those of the whole run");
  }
  notes.insert(notes.begin(), figures.notes.begin(), figures.notes.end());
  return recording;
}

Recording recording_at(const History& history, const HistoryRange& range) {
  ViewFigures figures = View(history, range).run();
  return with_figures(history.recording, std::move(figures));
}

Recording take_recording_at(History& history, const HistoryRange& range) {
  ViewFigures figures = View(history, range).run();
  Recording recording = std::exchange(history.recording, {});
  history.recording.types = recording.types;
  return with_figures(std::move(recording), std::move(figures));
}

}  // namespace memflame
