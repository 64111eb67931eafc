// SPDX-License-Identifier: BSD-2-Clause
// The parts of a timeline's picture.
#pragma once

#include <string>
#include <vector>

#include "core/timeline.h"
#include "render/timeline/ticks.h"
#include "render/timeline/timeline_output.h"

namespace memflame {

// The whole picture. With `alone` it brings its own style and background; in a page it has the
// page's.
void append_timeline_svg(std::string& out, const Timeline& timeline, const TimelineLooks& looks,
                         bool alone);

// Where lines are drawn: times from left to right, values from the bottom up.
struct PlotArea {
  double left = 0, width = 0, top = 0, height = 0;  // px
  TimeRange time;
  double low = 0, high = 1;  // values

  double bottom() const { return top + height; }
  double right() const { return left + width; }
  double x(double seconds) const;
  double y(double value) const;
};

// A line within the area's time: each value holds until the next point. As an area it is filled
// down to 0; it ends where a value is unknown.
std::string step_path(const PlotArea& area, const std::vector<TimePoint>& points, bool filled);

// Lines across the area with their labels at the left; a label too close to the one of 0 is left
// out.
void append_value_grid(std::string& out, const PlotArea& area, const std::vector<Tick>& ticks);
// Lines from top to bottom.
void append_time_grid(std::string& out, const PlotArea& area, const std::vector<Tick>& ticks);
// The labels of a time axis; `y` is their baseline.
void append_time_labels(std::string& out, const PlotArea& area, const std::vector<Tick>& ticks,
                        double y);

// Vertical lines at the marks within the area's time.
void append_mark_lines(std::string& out, const PlotArea& area, const std::vector<TimeMark>& marks);
// Their names above the area, in as many rows as `rows`, cut or left out where there is no room.
void append_mark_names(std::string& out, const PlotArea& area, const std::vector<TimeMark>& marks,
                       size_t rows);
inline constexpr double mark_row_height = 15;

// `clean` without its middle if it is wider than `width`.
std::string fitted(const std::string& clean, double font_size, double width);

}  // namespace memflame
