// SPDX-License-Identifier: BSD-2-Clause
// The figure that a timeline shows, made from the columns of a recording.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "collapse/history/timeline.h"

namespace memflame {

class TimelineFigure {
 public:
  // Throws Error (usage) if a column is missing.
  TimelineFigure(std::span<const ValueType> types, size_t shown, TimelineShow show,
                 std::string_view column);

  const ValueType& type() const { return type_; }
  // level() is then what the rate is taken of.
  bool is_rate() const { return is_rate_; }
  // The column that the figure is; no_column if it is made from others.
  size_t column() const { return minus_ == no_column && !is_rate_ ? plus_ : no_column; }

  // From the values of all columns. Throws Error if it does not fit in 64 bits.
  int64_t level(std::span<const int64_t> values) const;
  // `more` in that time, as type() has it.
  int64_t rate(int64_t more, double seconds) const;

 private:
  ValueType type_;
  size_t plus_ = 0, minus_ = no_column;
  bool is_rate_ = false;
};

// Throws Error if the result does not fit in 64 bits, which only damaged files have.
void add_figure(int64_t& sum, int64_t value);

}  // namespace memflame
