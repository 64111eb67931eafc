// SPDX-License-Identifier: BSD-2-Clause
// A timeline as one file: SVG 1.1 without script. At the top is the whole run, below it a band per
// stack.
#include <algorithm>
#include <cmath>
#include <optional>

#include "core/history.h"
#include "render/outputs/svg_parts.h"
#include "render/picture/assets.h"
#include "render/picture/palette.h"
#include "render/timeline/svg_plots.h"
#include "render/timeline/words.h"

namespace memflame {
namespace {

constexpr double axis_width = 66, right_margin = 20;
constexpr double font = 12;
constexpr double overview_height = 140;
constexpr double tallest_band = 110, lowest_band = 8, own_band = 56;
constexpr double heading_height = 19;  // of a band's name
constexpr double band_gap = 12;
constexpr double axis_height = 20;  // of the labels of a time axis
constexpr double px_per_value_tick = 30, px_per_time_tick = 110;

std::string clean_name(const std::string& text) {
  uint64_t replaced = 0;
  return clean_text(text, replaced);
}

double least_of(const TimeLine& line) {
  return line.extremes ? std::min(0.0, static_cast<double>(line.extremes->least)) : 0;
}
double most_of(const TimeLine& line) {
  return line.extremes ? std::max(0.0, static_cast<double>(line.extremes->most)) : 0;
}

// Covers the whole run, as the picture of a gauge does.
TimeRange values_of(const TimeLine& line) {
  TimeRange values{least_of(line), most_of(line)};
  for (const TimePoint& point : line.points)
    if (point.value) {
      values.from = std::min(values.from, static_cast<double>(*point.value));
      values.to = std::max(values.to, static_cast<double>(*point.value));
    }
  return values;
}

class TimelinePicture {
 public:
  TimelinePicture(const Timeline& timeline, const TimelineLooks& looks)
      : timeline_(timeline), looks_(looks), lines_(all_lines(timeline)) {}

  // Returns the height.
  double draw(std::string& out) {
    draw_head(out);
    if (timeline_.stacks == 0 && overview_lines().empty()) {
      append_text(out, "nothing", looks_.width / 2.0, y_ + 30, "nothing was recorded");
      return y_ + 60;
    }
    draw_overview(out);
    for (const TimeLine& gauge : timeline_.gauges)
      if (gauge.type.unit != Unit::bytes && values_of(gauge).to > 0) draw_own(out, gauge, "system");
    // The other probes' figures, of several.
    for (const TimeLine& total : timeline_.totals)
      if (total.leads_probe && values_of(total).to > values_of(total).from)
        draw_own(out, total, "system");
    draw_bands(out);
    return y_ + SvgPicture::margin;
  }

 private:
  double inner_width() const { return looks_.width - 2 * SvgPicture::margin; }

  PlotArea area(double height, TimeRange time) const {
    PlotArea area;
    area.left = SvgPicture::margin + axis_width;
    area.width = std::max(1.0, looks_.width - area.left - right_margin);
    area.top = y_;
    area.height = height;
    area.time = time;
    return area;
  }

  void draw_head(std::string& out) {
    out += "<g class=\"head\">\n";
    y_ = append_block(out, {"title", font + 7, inner_width(), 2, 1.15}, timeline_title(timeline_),
                      SvgPicture::margin) +
         2;
    for (const Caption& caption : timeline_captions(timeline_))
      y_ = append_block(out, {css_class(caption.tone), font, inner_width(), caption.max_lines},
                        caption.text, y_);
    out += "</g>\n";
    y_ += 8;
  }

  // The probe's bytes, and the system's. Counts have no common scale with them, so a picture of
  // counts has live bytes there.
  std::vector<const TimeLine*> overview_lines() const {
    std::vector<const TimeLine*> lines;
    for (const TimeLine& total : timeline_.totals)
      if (total.type.unit == Unit::bytes &&
          (&total == &timeline_.totals.front() || total.name == "live")) {
        lines.push_back(&total);
        break;
      }
    if (lines.empty() && !timeline_.totals.empty()) lines.push_back(&timeline_.totals.front());
    if (!lines.empty() && lines.front()->type.unit != Unit::bytes) return lines;
    for (const TimeLine& gauge : timeline_.gauges)
      if (gauge.name == resident_gauge || gauge.name == cgroup_gauge) lines.push_back(&gauge);
    return lines;
  }

  size_t ticks_of_time() const {
    return static_cast<size_t>(
        std::max(2.0, (looks_.width - axis_width - right_margin) / px_per_time_tick));
  }

  // What a script needs to find the time below the pointer.
  static void begin_plot(std::string& out, const PlotArea& area) {
    out += "<g class=\"plot\"";
    append_attribute(out, "data-left", area.left);
    append_attribute(out, "data-width", area.width);
    append_attribute(out, "data-top", area.top);
    append_attribute(out, "data-height", area.height);
    append_attribute(out, "data-from", number_text(area.time.from));
    append_attribute(out, "data-to", number_text(area.time.to));
    out += ">\n";
  }

  static void append_path(std::string& out, std::string_view css_class, const std::string& path) {
    if (path.empty()) return;
    out += "<path";
    append_attribute(out, "class", css_class);
    append_attribute(out, "d", path);
    out += "/>\n";
  }

  // The name at the left, figures at the right; a page's script replaces these.
  void draw_heading(std::string& out, const TimeLine& line, double x, double right) {
    const bool of_range = line.kind == LineKind::stack || line.kind == LineKind::rest;
    const std::string figures =
        extremes_text(of_range ? line.extremes : line.whole_extremes, line.type);
    const double room = right - x - text_width(figures, font) - 24;
    out += "<g><title>";
    append_xml(out, clean_name_lines(frames_text(line)));
    out += "</title>";
    append_text(out, "name", x, y_ + font,
                fitted(clean_name(line_name(line)), font * 1.1, std::max(room, 60.0)));
    out += "</g><text class=\"detail end read\"";
    const auto index = std::find(lines_.begin(), lines_.end(), &line) - lines_.begin();
    append_attribute(out, "data-line", std::to_string(index));
    append_attribute(out, "x", right);
    append_attribute(out, "y", y_ + font);
    out += '>';
    append_xml(out, figures);
    out += "</text>\n";
  }

  // Newlines between frames stay.
  static std::string clean_name_lines(const std::string& text) {
    std::string out;
    for (size_t from = 0; from <= text.size();) {
      const size_t end = std::min(text.find('\n', from), text.size());
      out += (from == 0 ? "" : "\n") + clean_name(text.substr(from, end - from));
      from = end + 1;
    }
    return out;
  }

  void draw_overview(std::string& out) {
    const std::vector<const TimeLine*> lines = overview_lines();
    PlotArea whole = area(overview_height, timeline_.whole);
    for (const TimeLine* line : lines) {
      const bool is_os = line->kind == LineKind::gauge;
      out += "<rect";
      append_attribute(out, "class", is_os ? "swatch os" : "swatch area");
      append_attribute(out, "x", whole.left);
      append_attribute(out, "y", y_ + 2);
      append_attribute(out, "width", 11);
      append_attribute(out, "height", 11);
      append_attribute(out, "rx", 2.5);
      out += "/>";
      draw_heading(out, *line, whole.left + 17, whole.right());
      y_ += heading_height;
    }
    const bool has_marks = !timeline_.marks.empty();
    constexpr size_t mark_rows = 2;
    y_ += has_marks ? mark_rows * mark_row_height + 2 : 6;
    whole.top = y_;
    for (const TimeLine* line : lines) {
      whole.low = std::min(whole.low, values_of(*line).from);
      whole.high = std::max(whole.high, values_of(*line).to * 1.04);
    }
    begin_plot(out, whole);
    const std::vector<Tick> times = time_ticks(timeline_.whole, ticks_of_time());
    append_time_grid(out, whole, times);
    for (const TimeRange& range : timeline_.shaded) {
      out += "<rect class=\"shade\"";
      append_attribute(out, "x", whole.x(range.from));
      append_attribute(out, "y", whole.top);
      append_attribute(out, "width", std::max(1.0, whole.x(range.to) - whole.x(range.from)));
      append_attribute(out, "height", whole.height);
      out += "><title>";
      append_xml(out, time_text(range.from) + " to " + time_text(range.to));
      out += "</title></rect>\n";
    }
    if (!lines.empty()) {
      for (const TimeLine* line : lines)
        if (line->kind != LineKind::gauge)
          append_path(out, "area", step_path(whole, line->points, true));
      for (const TimeLine* line : lines)
        if (line->kind == LineKind::gauge)
          append_path(out, "os", step_path(whole, line->points, false));
      const ValueType& type = lines.front()->type;
      append_value_grid(
          out, whole,
          value_ticks(whole.low, whole.high,
                      value_step(whole.high - whole.low, type,
                                 static_cast<size_t>(whole.height / px_per_value_tick)),
                      type));
    }
    append_mark_lines(out, whole, timeline_.marks);
    if (has_marks) append_mark_names(out, whole, timeline_.marks, mark_rows);
    out += "</g>\n";
    append_time_labels(out, whole, times, whole.bottom() + 15);
    y_ = whole.bottom() + axis_height + band_gap;
  }

  void draw_plot(std::string& out, const TimeLine& line, PlotArea plot, double step,
                 std::string_view css_class) {
    begin_plot(out, plot);
    append_time_grid(out, plot, time_ticks(plot.time, ticks_of_time()));
    append_path(out, css_class, step_path(plot, line.points, true));
    append_value_grid(out, plot, value_ticks(plot.low, plot.high, step, line.type));
    append_mark_lines(out, plot, timeline_.marks);
    out += "</g>\n";
    y_ = plot.bottom() + band_gap;
  }

  // A band with a scale of its own.
  void draw_own(std::string& out, const TimeLine& line, const std::string& kind) {
    const TimeRange time = kind == "system" ? timeline_.whole : timeline_.shown_range;
    PlotArea plot = area(own_band, time);
    draw_heading(out, line, plot.left, plot.right());
    y_ += heading_height;
    plot.top = y_;
    const TimeRange values = values_of(line);
    plot.low = values.from;
    plot.high = values.to > values.from ? values.to : values.from + 1;
    draw_plot(out, line, plot, value_step(plot.high - plot.low, line.type, 2),
              kind.empty() ? "area" : "area " + kind);
  }

  void draw_bands(std::string& out) {
    if (timeline_.bands.empty()) return;
    y_ += 4;
    double most = 0;
    for (const TimeLine& band : timeline_.bands)
      most = std::max(most, most_of(band) - least_of(band));
    const double px = most > 0 ? tallest_band / most : 1;
    const double step =
        value_step(most, timeline_.shown, static_cast<size_t>(tallest_band / px_per_value_tick));
    for (const TimeLine& band : timeline_.bands) {
      const std::string kind = band.kind == LineKind::rest ? "rest" : "";
      if (looks_.own_scales) {
        draw_own(out, band, kind);
        continue;
      }
      // All bands have the same height per byte, and none has more of it than it needs.
      PlotArea plot = area(0, timeline_.shown_range);
      draw_heading(out, band, plot.left, plot.right());
      y_ += heading_height;
      plot.top = y_;
      plot.low = least_of(band);
      plot.height = std::max(lowest_band, (most_of(band) - plot.low) * px);
      plot.high = plot.low + plot.height / px;
      draw_plot(out, band, plot, step, kind.empty() ? "area" : "area " + kind);
    }
    const PlotArea axis = area(0, timeline_.shown_range);
    append_time_labels(out, axis, time_ticks(axis.time, ticks_of_time()), y_ + 3);
    y_ += axis_height - band_gap + 4;
  }

  const Timeline& timeline_;
  const TimelineLooks& looks_;
  const std::vector<const TimeLine*> lines_;
  double y_ = SvgPicture::margin;
};

}  // namespace

void append_timeline_svg(std::string& out, const Timeline& timeline, const TimelineLooks& looks,
                         bool alone) {
  std::string body;
  const double height = TimelinePicture(timeline, looks).draw(body);
  if (alone) out += "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  out += "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" class=\"memflame\"";
  append_attribute(out, "width", looks.width);
  append_attribute(out, "height", height);
  std::string view = "0 0 " + std::to_string(looks.width) + " ";
  append_px(view, height);
  append_attribute(out, "viewBox", view);
  append_attribute(out, "font-size", font);
  append_attribute(out, "role", "graphics-document");
  out += ">\n<title>";
  append_xml(out, clean_name(timeline_title(timeline)));
  out +=
      "</title>\n<desc>Time goes from left to right. At the top is the whole run: the probe's "
      "total and the system's figures. Below is a band for each stack.</desc>\n";
  if (alone) {
    const Palette palette = palette_by_name("mem");
    ((out += "<style>\n") += asset("timeline.css")) += dark_colours(palette) + "</style>\n";
    append_background(out, palette, false);
  }
  out += body;
  out += "</svg>\n";
}

void write_timeline_svg(std::ostream& out, const Timeline& timeline, const TimelineLooks& looks) {
  std::string text;
  append_timeline_svg(text, timeline, looks, true);
  out << text;
}

}  // namespace memflame
