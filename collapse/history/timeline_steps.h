// SPDX-License-Identifier: BSD-2-Clause
// The parts of timeline_of(): figures from look to look, and lines made from them.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "collapse/history/timeline_figure.h"
#include "core/history.h"

namespace memflame {

double look_seconds(const Look& look);

// The columns of all tracks, from look to look.
class TrackColumns {
 public:
  explicit TrackColumns(const History& history);

  // The figures of a row's track before it. Throws Error if the history does not have that track.
  std::span<int64_t> of(const Look::Row& row);
  void take(const Look::Row& row) {
    std::copy(row.values.begin(), row.values.end(), of(row).begin());
  }
  std::span<const int64_t> of(TrackId track) const {
    return std::span(values_).subspan(track.index * columns_, columns_);
  }

 private:
  size_t columns_ = 0, tracks_ = 0;
  std::vector<int64_t> values_;
};

// The figures of stacks in one stretch of time, during which they stay the same.
class StackStep {
 public:
  TimeRange time;
  int64_t total = 0;  // of all stacks

  int64_t value(StackId stack) const { return values_[stack.index]; }
  // Those whose value may differ from the step before.
  std::span<const StackId> changed() const { return changed_; }

 private:
  friend class StackSteps;
  std::vector<int64_t> values_;  // by StackId::index
  std::vector<StackId> changed_;
};

// Calls a function for each step of a run, in the order of time.
class StackSteps {
 public:
  // A rate is the mean of at least the time between two of `times`: lines have no more points, and
  // would show some of the rates between looks, and not the others.
  StackSteps(const History& history, const TimelineFigure& figure,
             std::span<const StackId> stack_of_track, size_t stacks, std::span<const double> times)
      : history_(history),
        figure_(figure),
        stack_of_track_(stack_of_track),
        stacks_(stacks),
        times_(times) {}

  void each(const std::function<void(const StackStep&)>& call) const;

 private:
  void each_level(const std::function<void(const StackStep&)>& call) const;
  void each_rate(const std::function<void(const StackStep&)>& call) const;
  StackStep first_step() const;
  int64_t growth(TrackColumns& columns, const Look::Row& row) const;

  const History& history_;
  const TimelineFigure& figure_;
  std::span<const StackId> stack_of_track_;
  size_t stacks_;
  std::span<const double> times_;
};

// Whether a figure that holds from `from` until `to` is seen within the range.
bool overlaps(const TimeRange& range, double from, double to);

// Makes a line of values that come in the order of time.
class LineSampler {
 public:
  // Makes points at `times`, which must outlive the sampler.
  LineSampler(std::span<const double> times, TimeRange range) : times_(times), range_(range) {}

  // The value from then on; none if it is not known.
  void put(double seconds, std::optional<int64_t> value);
  // The end of the run.
  void finish(TimeLine& line);

 private:
  void see(double until);
  void see(std::optional<TimeLine::Extremes>& extremes, double from) const;

  std::span<const double> times_;
  const TimeRange range_;
  double since_ = 0;
  std::optional<int64_t> value_;
  std::vector<TimePoint> points_;
  std::optional<TimeLine::Extremes> extremes_, whole_extremes_;
};

}  // namespace memflame
