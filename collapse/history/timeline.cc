// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/history/timeline.h"

#include <algorithm>

#include "collapse/fold/fold.h"
#include "collapse/history/stack_labels.h"
#include "collapse/history/timeline_steps.h"
#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

// One sum per track: its last figures, from which fold() counts cut stacks.
std::vector<Aggregate> last_figures(const History& history) {
  const std::optional<BlockColumns> blocks = block_columns(history.recording.types);
  TrackColumns columns(history);
  for (const Look& look : history.looks)
    for (const Look::Row& row : look.rows) columns.take(row);
  std::vector<Aggregate> sums;
  for (uint32_t i = 1; i < history.tracks.size(); ++i) {
    const Track& track = history.tracks[i];
    const std::span<const int64_t> values = columns.of(TrackId{i});
    const int64_t events = blocks ? values[blocks->total_count] : 0;
    sums.push_back(
        {track.stack, track.group, std::vector<int64_t>(values.begin(), values.end()), events});
  }
  return sums;
}

// The stacks with the largest values of a range.
class Ranking {
 public:
  Ranking(size_t stacks, TimeRange range) : range_(range), most_(stacks) {}

  void see(const StackStep& step) {
    if (!overlaps(range_, step.time.from, step.time.to)) return;
    if (std::exchange(inside_, true)) {
      for (const StackId stack : step.changed()) see(stack, step.value(stack));
      return;
    }
    for (uint32_t i = 1; i < most_.size(); ++i) see({i}, step.value({i}));
  }

  // All that had a value, the largest first.
  std::vector<StackId> order() const {
    std::vector<StackId> stacks;
    for (uint32_t i = 1; i < most_.size(); ++i)
      if (most_[i]) stacks.push_back({i});
    std::stable_sort(stacks.begin(), stacks.end(),
                     [&](StackId a, StackId b) { return *most_[a.index] > *most_[b.index]; });
    return stacks;
  }

 private:
  void see(StackId stack, int64_t value) {
    std::optional<int64_t>& most = most_[stack.index];
    if (value != 0) most = std::max(most.value_or(value), value);
  }

  const TimeRange range_;
  bool inside_ = false;
  std::vector<std::optional<int64_t>> most_;  // by StackId::index
};

// The times of points within a range: those of the looks, unless these are too many.
std::vector<double> times_of(const History& history, TimeRange range, size_t points) {
  std::vector<double> times{range.from};
  for (const Look& look : history.looks)
    if (look_seconds(look) > times.back() && look_seconds(look) <= range.to)
      times.push_back(look_seconds(look));
  if (times.back() < range.to) times.push_back(range.to);
  if (times.size() <= points) return times;
  times.clear();
  const double distance = (range.to - range.from) / static_cast<double>(points - 1);
  for (size_t i = 0; i + 1 < points; ++i)
    times.push_back(range.from + distance * static_cast<double>(i));
  times.push_back(range.to);
  return times;
}

class TimelineMaker {
 public:
  TimelineMaker(const History& history, const TimelineOptions& options)
      : history_(history),
        options_(options),
        figure_(history.recording.types, history.recording.shown, options.show, options.column) {}

  Timeline run() {
    set_ranges();
    std::vector<StackId> stack_of_sum;
    profile_ = fold(history_.recording, last_figures(history_), {}, &stack_of_sum);
    stack_of_track_.insert(stack_of_track_.end(), stack_of_sum.begin(), stack_of_sum.end());
    describe();
    add_stacks();
    add_columns();
    add_gauges();
    return std::move(timeline_);
  }

 private:
  void set_ranges() {
    for (const Look& look : history_.looks)
      timeline_.whole.to = std::max(timeline_.whole.to, look_seconds(look));
    TimeRange& range = timeline_.shown_range;
    range = timeline_.whole;
    if (options_.between) {
      range = {options_.between->from, std::min(options_.between->to, range.to)};
      if (!(range.from < range.to))
        throw Error(
            "--between: the recording ends after " +
                human(static_cast<int64_t>(timeline_.whole.to * 1e9), {"time", Unit::nanoseconds}) +
                "; name a time before that",
            ExitCode::usage);
      timeline_.shaded.push_back(range);
    }
    const size_t points = std::max<size_t>(options_.points, 2);
    times_ = times_of(history_, range, points);
    whole_times_ = times_of(history_, timeline_.whole, points);
    whole_times_.insert(whole_times_.end(), times_.begin(), times_.end());
    std::sort(whole_times_.begin(), whole_times_.end());
    whole_times_.erase(std::unique(whole_times_.begin(), whole_times_.end()), whole_times_.end());
  }

  void describe() {
    timeline_.meta = profile_.meta;
    timeline_.losses = profile_.losses;
    timeline_.shown = figure_.type();
    timeline_.is_complete = history_.is_complete;
    if (!(timeline_.meta.seconds > 0)) timeline_.meta.seconds = timeline_.whole.to;
    for (const Mark& mark : history_.marks)
      timeline_.marks.push_back({static_cast<double>(mark.time_ns) / 1e9, mark.name});
    std::stable_sort(timeline_.marks.begin(), timeline_.marks.end(),
                     [](const TimeMark& a, const TimeMark& b) { return a.seconds < b.seconds; });
    size_t ended = 0;
    for (const Look& look : history_.looks) ended += look.ended.size();
    if (ended != 0)
      timeline_.meta.notes.push_back(with_commas(static_cast<int64_t>(ended)) +
                                     (ended == 1 ? " process has" : " processes have") +
                                     " ended; the probe's figures keep what was not freed by then");
  }

  // The bands, and the total of the shown figure.
  void add_stacks() {
    const StackSteps steps(history_, figure_, stack_of_track_, profile_.stacks.size(),
                           whole_times_);
    Ranking ranking(profile_.stacks.size(), timeline_.shown_range);
    steps.each([&](const StackStep& step) { ranking.see(step); });
    std::vector<StackId> top = ranking.order();
    timeline_.stacks = top.size();
    const size_t others = top.size() - std::min(top.size(), options_.top);
    top.resize(top.size() - others);

    std::vector<LineSampler> samplers(top.size() + 1, {times_, timeline_.shown_range});
    LineSampler total(whole_times_, timeline_.shown_range);
    steps.each([&](const StackStep& step) {
      int64_t rest = step.total;
      for (size_t i = 0; i < top.size(); ++i) {
        const int64_t value = step.value(top[i]);
        samplers[i].put(step.time.from, value);
        if (__builtin_sub_overflow(rest, value, &rest)) rest = 0;  // only of damaged figures
      }
      // Rates are rounded one by one.
      if (figure_.is_rate()) rest = std::max<int64_t>(rest, 0);
      samplers.back().put(step.time.from, rest);
      total.put(step.time.from, step.total);
    });
    timeline_.totals.push_back(
        line(LineKind::total, figure_.type().name, figure_.type(), timeline_.stacks, total));
    const std::vector<std::string> labels = stack_labels(profile_, top);
    for (size_t i = 0; i < top.size(); ++i) {
      timeline_.bands.push_back(line(LineKind::stack, labels[i], figure_.type(), 1, samplers[i]));
      for (const FrameId frame : profile_.path(top[i]))
        timeline_.bands.back().frames.emplace_back(
            profile_.strings[profile_.frames[frame].function]);
    }
    if (others != 0)
      timeline_.bands.push_back(
          line(LineKind::rest, "everything else", figure_.type(), others, samplers.back()));
  }

  static TimeLine line(LineKind kind, const std::string& name, const ValueType& type, size_t stacks,
                       LineSampler& sampler) {
    TimeLine line;
    line.kind = kind;
    line.name = name;
    line.type = type;
    line.stacks = stacks;
    sampler.finish(line);
    return line;
  }

  // The totals of the columns that are not shown.
  void add_columns() {
    const std::vector<ValueType>& types = history_.recording.types;
    const std::vector<size_t> leading = first_columns_of_probes(types);
    TrackColumns columns(history_);
    std::vector<int64_t> sums(types.size(), 0);
    std::vector<LineSampler> samplers(types.size(), {whole_times_, timeline_.shown_range});
    for (LineSampler& sampler : samplers) sampler.put(0, 0);
    for (const Look& look : history_.looks) {
      for (const Look::Row& row : look.rows) {
        const std::span<int64_t> known = columns.of(row);
        for (size_t i = 0; i < types.size(); ++i) {
          const int64_t before = std::exchange(known[i], row.values[i]);
          if (types[i].unit == Unit::variance) continue;
          add_figure(sums[i], row.values[i]);
          int64_t less = 0;
          if (__builtin_sub_overflow(int64_t{0}, before, &less)) less = INT64_MAX;
          add_figure(sums[i], less);
        }
      }
      for (size_t i = 0; i < types.size(); ++i) samplers[i].put(look_seconds(look), sums[i]);
    }
    for (size_t i = 0; i < types.size(); ++i) {
      if (types[i].unit == Unit::variance || i == figure_.column()) continue;
      ValueType type = types[i];
      type.variance = no_column;
      type.variance_unit = 1;
      timeline_.totals.push_back(
          line(LineKind::total, type.name, type, timeline_.stacks, samplers[i]));
      timeline_.totals.back().leads_probe =
          std::find(leading.begin(), leading.end(), i) != leading.end();
    }
  }

  void add_gauges() {
    for (size_t i = 0; i < history_.gauges.size(); ++i) {
      const Gauge& gauge = history_.gauges[i];
      LineSampler sampler(whole_times_, timeline_.shown_range);
      bool has_figures = false;  // a system without swap, or a run without cgroup, has none
      for (const Look& look : history_.looks) {
        const int64_t value = i < look.gauges.size() ? look.gauges[i] : no_reading;
        has_figures = has_figures || (value != no_reading && value != 0);
        sampler.put(look_seconds(look),
                    value == no_reading ? std::nullopt : std::optional<int64_t>(value));
      }
      ValueType type{.name = gauge.name, .unit = gauge.unit};
      type.decimals = gauge.decimals;
      if (has_figures)
        timeline_.gauges.push_back(line(LineKind::gauge, gauge.name, type, 0, sampler));
    }
  }

  const History& history_;
  const TimelineOptions& options_;
  const TimelineFigure figure_;
  Timeline timeline_;
  Profile profile_;
  std::vector<StackId> stack_of_track_{StackId{}};
  std::vector<double> times_, whole_times_;
};

}  // namespace

Timeline timeline_of(const History& history, const TimelineOptions& options) {
  return TimelineMaker(history, options).run();
}

}  // namespace memflame
