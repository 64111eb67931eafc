// SPDX-License-Identifier: BSD-2-Clause
// A Timeline made by hand.
#pragma once

#include <sstream>

#include "render/timeline/timeline_output.h"

namespace memflame {

// Two stacks, of which one has a hostile name, and the rest; two gauges, of which one has a gap; 60
// seconds.
inline Timeline made_timeline() {
  const auto line = [](LineKind kind, const std::string& name, ValueType type,
                       std::vector<TimePoint> points, TimeLine::Extremes extremes) {
    TimeLine made;
    made.kind = kind;
    made.name = name;
    made.type = std::move(type);
    made.stacks = kind == LineKind::gauge ? 0 : 1;
    made.points = std::move(points);
    made.extremes = made.whole_extremes = extremes;
    return made;
  };
  constexpr int64_t mib = 1'048'576;
  const ValueType bytes{"live", Unit::bytes};
  ValueType percent{"pressure", Unit::count};
  percent.decimals = 2;
  Timeline timeline;
  timeline.meta.command = "memflame record -p 812";
  timeline.meta.host = "example";
  timeline.meta.seconds = 60;
  timeline.shown = bytes;
  timeline.whole = timeline.shown_range = {0, 60};
  timeline.stacks = 4;
  timeline.gauges = {
      line(LineKind::gauge, "resident", {"resident", Unit::bytes},
           {{0, {}}, {10, 20 * mib}, {30, {}}, {40, 30 * mib}}, {20 * mib, 30 * mib, 30 * mib, 40}),
      line(LineKind::gauge, "pressure", percent, {{0, 0}, {50, 250}}, {0, 250, 250, 50})};
  timeline.totals = {line(LineKind::total, "live", bytes, {{0, 0}, {10, 12 * mib}, {60, 11 * mib}},
                          {0, 12 * mib, 11 * mib, 10}),
                     line(LineKind::total, "live-count", {"live-count", Unit::count},
                          {{0, 0}, {10, 100}}, {0, 100, 100, 10})};
  timeline.bands = {
      line(LineKind::stack, "Cache::fill", bytes, {{0, 0}, {10, 10 * mib}, {60, 9 * mib}},
           {0, 10 * mib, 9 * mib, 10}),
      line(LineKind::stack, "</script>\x1b[31m\xff\"&'", bytes, {{0, 0}, {10, mib}},
           {0, mib, mib, 10}),
      line(LineKind::rest, "everything else", bytes, {{0, 0}, {10, mib}}, {0, mib, mib, 10})};
  timeline.bands[0].frames = {"server", "main", "Cache::fill", "malloc"};
  timeline.bands[1].frames = {"server", "</script>\x1b[31m\xff\"&'"};
  timeline.bands[2].stacks = 2;
  timeline.marks = {{20, "deploy <4.1>"}};
  return timeline;
}

inline std::string written(std::string_view format, const Timeline& timeline = made_timeline(),
                           const TimelineLooks& looks = {}) {
  std::ostringstream out;
  timeline_output_for(format, "").write(out, timeline, looks);
  return out.str();
}

}  // namespace memflame
