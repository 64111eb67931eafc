// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/history/timeline_steps.h"

#include <algorithm>
#include <limits>

#include "core/error.h"

namespace memflame {

double look_seconds(const Look& look) { return static_cast<double>(look.time_ns) / 1e9; }

TrackColumns::TrackColumns(const History& history)
    : columns_(history.recording.types.size()),
      tracks_(history.tracks.size()),
      values_(columns_ * tracks_, 0) {}

std::span<int64_t> TrackColumns::of(const Look::Row& row) {
  if (!row.track || row.track.index >= tracks_ || row.values.size() != columns_)
    throw Error("the recording is damaged: a figure belongs to a track that is not in it");
  return std::span(values_).subspan(row.track.index * columns_, columns_);
}

StackStep StackSteps::first_step() const {
  StackStep step;
  step.values_.assign(stacks_, 0);
  return step;
}

void StackSteps::each(const std::function<void(const StackStep&)>& call) const {
  figure_.is_rate() ? each_rate(call) : each_level(call);
}

// Takes a row, and says what it adds to its stack's figure.
int64_t StackSteps::growth(TrackColumns& columns, const Look::Row& row) const {
  const std::span<int64_t> known = columns.of(row);
  int64_t more = 0;
  if (__builtin_sub_overflow(figure_.level(row.values), figure_.level(known), &more))
    throw Error("the recording is damaged: a figure does not fit in 64 bits");
  std::copy(row.values.begin(), row.values.end(), known.begin());
  return more;
}

// A level holds from its look until the next one.
void StackSteps::each_level(const std::function<void(const StackStep&)>& call) const {
  TrackColumns columns(history_);
  StackStep step = first_step();
  for (const Look& look : history_.looks) {
    step.time.to = look_seconds(look);
    call(step);
    step.time.from = step.time.to;
    step.changed_.clear();
    for (const Look::Row& row : look.rows) {
      const int64_t more = growth(columns, row);
      const StackId stack = stack_of_track_[row.track.index];
      add_figure(step.values_[stack.index], more);
      add_figure(step.total, more);
      step.changed_.push_back(stack);
    }
  }
  step.time.to = std::numeric_limits<double>::infinity();
  call(step);
}

// A rate is that of the time between two looks: it holds from the earlier one. Looks that share a
// point of the lines are taken together.
void StackSteps::each_rate(const std::function<void(const StackStep&)>& call) const {
  TrackColumns columns(history_);
  StackStep step = first_step();
  std::vector<int64_t> more(stacks_, 0);
  std::vector<StackId> counted;
  for (const Look& look : history_.looks) {
    for (const Look::Row& row : look.rows) {
      const int64_t grown = growth(columns, row);
      const StackId stack = stack_of_track_[row.track.index];
      add_figure(more[stack.index], grown);
      counted.push_back(stack);
    }
    const auto next = std::upper_bound(times_.begin(), times_.end(), step.time.from);
    const bool has_point = next != times_.end() && *next <= look_seconds(look);
    if (!has_point && &look != &history_.looks.back()) continue;
    if (look_seconds(look) <= step.time.from) continue;  // no time to divide by
    step.time.to = look_seconds(look);
    const double seconds = step.time.to - step.time.from;
    std::vector<StackId> changed = counted;
    for (const StackId stack : step.changed_) {
      if (step.values_[stack.index] == 0) continue;
      step.values_[stack.index] = 0;
      changed.push_back(stack);
    }
    int64_t total = 0;
    for (const StackId stack : counted) {
      add_figure(total, more[stack.index]);
      if (more[stack.index] != 0)
        step.values_[stack.index] = figure_.rate(more[stack.index], seconds);
      more[stack.index] = 0;  // a stack may be there twice
    }
    step.total = figure_.rate(total, seconds);
    step.changed_ = std::move(changed);
    counted.clear();
    call(step);
    step.time.from = step.time.to;
  }
}

bool overlaps(const TimeRange& range, double from, double to) {
  return from <= range.to && to > range.from;
}

void LineSampler::see(double until) {
  while (points_.size() < times_.size() && times_[points_.size()] < until)
    points_.push_back({times_[points_.size()], value_});
  if (!value_) return;
  see(whole_extremes_, since_);
  if (overlaps(range_, since_, until)) see(extremes_, std::max(since_, range_.from));
}

void LineSampler::see(std::optional<TimeLine::Extremes>& extremes, double from) const {
  if (!extremes) extremes = {*value_, *value_, *value_, from};
  extremes->least = std::min(extremes->least, *value_);
  if (*value_ > extremes->most) {
    extremes->most = *value_;
    extremes->most_at = from;
  }
  extremes->last = *value_;
}

void LineSampler::put(double seconds, std::optional<int64_t> value) {
  if (seconds > since_) see(seconds);
  since_ = std::max(since_, seconds);
  value_ = value;
}

void LineSampler::finish(TimeLine& line) {
  see(std::numeric_limits<double>::infinity());
  line.points = std::move(points_);
  line.extremes = extremes_;
  line.whole_extremes = whole_extremes_;
}

}  // namespace memflame
