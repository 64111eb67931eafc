// SPDX-License-Identifier: BSD-2-Clause
#include "render/timeline/svg_plots.h"

#include <algorithm>
#include <cmath>

#include "render/outputs/svg_parts.h"
#include "render/picture/caption.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

constexpr double label_font = 11;
constexpr double label_gap = 6;  // px between a label and the area

void append_line(std::string& out, std::string_view css_class, double x1, double y1, double x2,
                 double y2) {
  out += "<line";
  append_attribute(out, "class", css_class);
  append_attribute(out, "x1", x1);
  append_attribute(out, "y1", y1);
  append_attribute(out, "x2", x2);
  append_attribute(out, "y2", y2);
  out += "/>";
}

void append_point(std::string& path, char command, double x, double y) {
  path += command;
  append_px(path, x);
  path += ' ';
  append_px(path, y);
}

// The points of one stretch without gaps, from `begin` to `end`.
void append_steps(std::string& path, const PlotArea& area, const std::vector<TimePoint>& points,
                  size_t begin, size_t end, bool filled) {
  double x = area.x(points[begin].seconds);
  if (filled) append_point(path, 'M', x, area.y(0));
  append_point(path, filled ? 'L' : 'M', x, area.y(static_cast<double>(*points[begin].value)));
  double before = area.y(static_cast<double>(*points[begin].value));
  for (size_t i = begin + 1; i < end; ++i) {
    const double y = area.y(static_cast<double>(*points[i].value));
    if (y == before) continue;
    x = area.x(points[i].seconds);
    path += 'H';
    append_px(path, x);
    path += 'V';
    append_px(path, y);
    before = y;
  }
  path += 'H';
  append_px(path, area.x(end < points.size() ? points[end].seconds : area.time.to));
  if (filled) {
    path += 'V';
    append_px(path, area.y(0));
    path += 'Z';
  }
}

}  // namespace

double PlotArea::x(double seconds) const {
  const double length = time.to - time.from;
  const double share = length > 0 ? (seconds - time.from) / length : 0;
  return left + width * std::clamp(share, 0.0, 1.0);
}

double PlotArea::y(double value) const {
  const double share = high > low ? (value - low) / (high - low) : 0;
  return bottom() - height * std::clamp(share, 0.0, 1.0);
}

std::string step_path(const PlotArea& area, const std::vector<TimePoint>& all, bool filled) {
  // The last point before the area gives the value at its beginning.
  std::vector<TimePoint> points;
  for (const TimePoint& point : all) {
    if (point.seconds > area.time.to) break;
    if (point.seconds <= area.time.from) points.clear();
    points.push_back({std::max(point.seconds, area.time.from), point.value});
  }
  std::string path;
  for (size_t begin = 0; begin < points.size();) {
    if (!points[begin].value) {
      ++begin;
      continue;
    }
    size_t end = begin + 1;
    while (end < points.size() && points[end].value) ++end;
    append_steps(path, area, points, begin, end, filled);
    begin = end;
  }
  return path;
}

void append_value_grid(std::string& out, const PlotArea& area, const std::vector<Tick>& ticks) {
  const double zero = area.y(0);
  for (const Tick& tick : ticks) {
    const double y = area.y(tick.at);
    append_line(out, tick.at == 0 ? "base" : "grid", area.left, y, area.right(), y);
    if (tick.at != 0 && std::fabs(y - zero) < label_font + 1) continue;
    append_text(out, "tick end", area.left - label_gap, y + 4, tick.label);
  }
  out += '\n';
}

void append_time_grid(std::string& out, const PlotArea& area, const std::vector<Tick>& ticks) {
  for (const Tick& tick : ticks)
    append_line(out, "grid", area.x(tick.at), area.top, area.x(tick.at), area.bottom());
  out += '\n';
}

void append_time_labels(std::string& out, const PlotArea& area, const std::vector<Tick>& ticks,
                        double y) {
  for (const Tick& tick : ticks) {
    const double x = area.x(tick.at);
    // Within the picture at its right edge.
    const bool at_end =
        x + text_width(tick.label, label_font) / 2 > area.right() + SvgPicture::margin;
    append_text(out, at_end ? "tick end" : "tick middle", at_end ? area.right() : x, y, tick.label);
  }
  out += '\n';
}

void append_mark_lines(std::string& out, const PlotArea& area, const std::vector<TimeMark>& marks) {
  for (const TimeMark& mark : marks)
    if (mark.seconds >= area.time.from && mark.seconds <= area.time.to)
      append_line(out, "mark", area.x(mark.seconds), area.top, area.x(mark.seconds), area.bottom());
  out += '\n';
}

void append_mark_names(std::string& out, const PlotArea& area, const std::vector<TimeMark>& marks,
                       size_t rows) {
  constexpr double widest = 180, gap = 3;
  // From right to left, so that a name is above the lines of the marks that follow it. Up to where
  // each row is free:
  std::vector<double> limits(rows, area.right() + SvgPicture::margin);
  for (auto mark = marks.rbegin(); mark != marks.rend(); ++mark) {
    if (mark->seconds < area.time.from || mark->seconds > area.time.to) continue;
    const double x = area.x(mark->seconds);
    uint64_t replaced = 0;
    const std::string name = clean_text(mark->name, replaced);
    const std::string text = fitted(name, label_font, widest);
    const double width = text_width(text, label_font) + 2 * gap;
    for (size_t row = 0; row < rows; ++row) {
      // At the end of the run there is only room at the left of the line.
      const bool at_left = x + width > area.right() + SvgPicture::margin;
      if (at_left ? x > limits[row] : x + width > limits[row]) continue;
      const double y = area.top - 4 - mark_row_height * static_cast<double>(row);
      append_line(out, "mark", x, y - 9, x, area.top);
      out += "<g><title>";
      append_xml(out, name + ", " + time_text(mark->seconds));
      out += "</title>";
      append_text(out, at_left ? "mark-name end" : "mark-name", at_left ? x - gap : x + gap, y,
                  text);
      out += "</g>";
      for (size_t below = 0; below < row; ++below) limits[below] = std::min(limits[below], x);
      limits[row] = at_left ? x - width : x;
      break;
    }
  }
  out += '\n';
}

std::string fitted(const std::string& clean, double font_size, double width) {
  if (text_width(clean, font_size) <= width) return clean;
  // The letters, each with its marks.
  std::vector<std::string_view> letters;
  for (std::string_view rest = clean; !rest.empty();) {
    const size_t size = std::max<size_t>(letter_size(rest), 1);
    letters.push_back(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  double room = width - text_width("…", font_size);
  std::string head, tail;
  // One at each end in turn.
  for (size_t i = 0; i < letters.size(); ++i) {
    const std::string_view letter =
        i % 2 == 0 ? letters[i / 2] : letters[letters.size() - 1 - i / 2];
    room -= text_width(letter, font_size);
    if (room < 0) break;
    if (i % 2 == 0)
      head += letter;
    else
      tail.insert(0, letter);
  }
  return head + "…" + tail;
}

}  // namespace memflame
