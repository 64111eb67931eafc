// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/history/timeline_figure.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "core/error.h"

namespace memflame {
namespace {

// A rate has one decimal: slow programs allocate less than once per second.
constexpr uint8_t rate_decimals = 1;

size_t column_called(std::span<const ValueType> types, std::string_view name) {
  for (size_t i = 0; i < types.size(); ++i)
    if (types[i].name == name) return i;
  return no_column;
}

size_t required_column(std::span<const ValueType> types, std::string_view name) {
  const size_t column = column_called(types, name);
  if (column != no_column) return column;
  std::string known;
  for (const ValueType& type : types)
    if (type.unit != Unit::variance) known += (known.empty() ? "" : ", ") + type.name;
  throw Error("--show needs the figures '" + std::string(name) +
                  "', which are not in this recording; it has " + known,
              ExitCode::usage);
}

}  // namespace

TimelineFigure::TimelineFigure(std::span<const ValueType> types, size_t shown, TimelineShow show,
                               std::string_view column) {
  switch (show) {
    case TimelineShow::standard:
      plus_ = column_called(types, "live");
      if (plus_ == no_column) plus_ = shown;
      break;
    case TimelineShow::live:
      plus_ = required_column(types, "live");
      break;
    case TimelineShow::live_count:
      plus_ = required_column(types, "live-count");
      break;
    case TimelineShow::allocations:
    case TimelineShow::rate:
      plus_ = required_column(types, "total-count");
      break;
    case TimelineShow::frees:
      plus_ = required_column(types, "total-count");
      minus_ = required_column(types, "live-count");
      break;
    case TimelineShow::column:
      plus_ = required_column(types, column);
      break;
  }
  if (plus_ >= types.size()) throw Error("the recording has no figures");
  type_ = types[plus_];
  type_.variance = no_column;
  type_.variance_unit = 1;
  if (show == TimelineShow::allocations) type_.name = "allocations";
  if (show == TimelineShow::frees) type_.name = "frees";
  is_rate_ = show == TimelineShow::rate;
  if (is_rate_) {
    type_.name = "allocations per second";
    type_.decimals = rate_decimals;
  }
}

int64_t TimelineFigure::level(std::span<const int64_t> values) const {
  int64_t level = values[plus_];
  if (minus_ != no_column && __builtin_sub_overflow(level, values[minus_], &level))
    throw Error("the recording is damaged: a figure does not fit in 64 bits");
  return level;
}

int64_t TimelineFigure::rate(int64_t more, double seconds) const {
  constexpr double most = 9223372036854774784.0;  // the last double below 2^63
  const double tenths = std::round(static_cast<double>(more) / seconds * 10);
  return static_cast<int64_t>(std::clamp(tenths, -most, most));
}

void add_figure(int64_t& sum, int64_t value) {
  if (__builtin_add_overflow(sum, value, &sum))
    throw Error("the recording is damaged: a sum of its figures does not fit in 64 bits");
}

}  // namespace memflame
