// SPDX-License-Identifier: BSD-2-Clause
// A timeline for a terminal: a line each, with a small chart of its own scale and its figures.
#include <algorithm>
#include <array>
#include <cmath>

#include "render/text/clean_text.h"
#include "render/timeline/ticks.h"
#include "render/timeline/timeline_output.h"
#include "render/timeline/words.h"

namespace memflame {
namespace {

constexpr std::array<std::string_view, 9> blocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 9> ascii_blocks{" ", ".", ":", "-", "=", "+", "*", "#", "@"};
constexpr size_t figure_width = 10, least_chart = 10;
constexpr std::array<std::string_view, 3> figure_names{"least", "most", "last"};

std::string text_for(std::string_view text, bool utf8) {
  uint64_t replaced = 0;
  std::string clean = clean_text(text, replaced);
  if (utf8) return clean;
  std::string ascii;
  for (std::string_view rest = clean; !rest.empty();) {
    const auto first = static_cast<unsigned char>(rest.front());
    const size_t size = first < 0x80 ? 1 : std::max<size_t>(letter_size(rest), 1);
    if (first < 0x80)
      ascii += rest.front();
    else if (const std::string_view letter = rest.substr(0, size); letter == "·")
      ascii += '|';
    else if (letter == "←")
      ascii += "<-";
    else if (letter == "→")
      ascii += "->";
    else
      ascii += '?';
    rest.remove_prefix(size);
  }
  return ascii;
}

std::string padded(const std::string& text, size_t width, bool at_right) {
  const size_t used = letters(text);
  const std::string blanks(width - std::min(width, used), ' ');
  return at_right ? blanks + text : text + blanks;
}

// Cut in the middle: both ends of a name tell something.
std::string cut_name(const std::string& name, size_t width, bool utf8) {
  const size_t count = letters(name);
  const std::string_view mark = utf8 ? "…" : "~";
  if (count <= width || width < 3) return std::string(first_letters(name, width));
  const size_t head = width / 2, tail = width - head - 1;
  const std::string_view before_tail = first_letters(name, count - tail);
  return std::string(first_letters(name, head)) + std::string(mark) +
         name.substr(before_tail.size());
}

// The largest value of each cell's time; one block per cell.
std::string chart_of(const TimeLine& line, TimeRange range, size_t cells, bool utf8) {
  std::vector<std::optional<double>> most(cells);
  const double length = range.to - range.from;
  const auto cell_of = [&](double seconds) {
    const double share = length > 0 ? std::clamp((seconds - range.from) / length, 0.0, 1.0) : 0;
    return std::min(cells - 1, static_cast<size_t>(share * static_cast<double>(cells)));
  };
  double high = 0;
  for (size_t i = 0; i < line.points.size(); ++i) {
    const TimePoint& point = line.points[i];
    const double until = i + 1 < line.points.size() ? line.points[i + 1].seconds : range.to;
    if (!point.value || point.seconds > range.to || until < range.from) continue;
    const auto value = static_cast<double>(*point.value);
    high = std::max(high, value);
    const size_t first = cell_of(point.seconds);
    // It ends where the next one begins: that cell is the next one's, unless both share it.
    size_t last = cell_of(until);
    if (last > first && i + 1 < line.points.size()) --last;
    for (size_t cell = first; cell <= last; ++cell)
      most[cell] = std::max(most[cell].value_or(value), value);
  }
  std::string chart;
  for (const std::optional<double>& value : most) {
    size_t level = 0;
    // A value above 0 is always seen.
    if (value && *value > 0 && high > 0)
      level = std::clamp<size_t>(static_cast<size_t>(std::lround(*value / high * 8)), 1, 8);
    chart += utf8 ? blocks[level] : ascii_blocks[level];
  }
  return chart;
}

// "0 s      30 s     60 s", as wide as a chart.
std::string axis_of(TimeRange range, size_t cells, bool utf8) {
  std::string axis(cells, ' ');
  size_t free_from = 0;
  const double length = range.to - range.from;
  for (const Tick& tick : time_ticks(range, std::max<size_t>(cells / 8, 1))) {
    const auto at =
        static_cast<size_t>((tick.at - range.from) / length * static_cast<double>(cells));
    const std::string label = text_for(tick.label, utf8);
    const size_t begin = std::min(at, cells - std::min(cells, label.size()));
    if (begin < free_from || label.size() > cells) continue;
    axis.replace(begin, label.size(), label);
    free_from = begin + label.size() + 2;
  }
  axis.erase(axis.find_last_not_of(' ') + 1);
  return axis;
}

class TimelineText {
 public:
  TimelineText(std::ostream& out, const Timeline& timeline, const TimelineLooks& looks)
      : out_(out), timeline_(timeline), utf8_(looks.utf8) {
    const auto columns = static_cast<size_t>(std::clamp(looks.columns, 40, 1000));
    const size_t figures = figure_names.size() * (figure_width + 1);
    const size_t rest = columns > figures + 24 ? columns - figures : 24;
    size_t longest = 8;
    for (const TimeLine* line : all_lines(timeline))
      longest = std::max(longest, letters(text_for(line_name(*line), utf8_)));
    name_width_ = std::min(longest, std::max<size_t>(rest / 2, 8));
    chart_width_ = std::max(least_chart, rest - std::min(rest, name_width_ + 1));
  }

  void run() {
    write_line(timeline_title(timeline_));
    for (const Caption& caption : timeline_captions(timeline_)) write_line(caption.text);
    out_ << '\n' << std::string(name_width_ + 1 + chart_width_, ' ');
    for (const std::string_view name : figure_names)
      out_ << ' ' << padded(std::string(name), figure_width, true);
    out_ << '\n';
    for (const TimeLine& line : timeline_.gauges) write(line);
    for (const TimeLine& total : timeline_.totals)
      if (&total == &timeline_.totals.front() || total.leads_probe) write(total);
    if (!timeline_.bands.empty()) out_ << '\n';
    for (const TimeLine& line : timeline_.bands) write(line);
    const std::string axis = axis_of(timeline_.shown_range, chart_width_, utf8_);
    if (!axis.empty()) out_ << std::string(name_width_ + 1, ' ') << axis << '\n';
    for (const TimeMark& mark : timeline_.marks)
      if (mark.seconds >= timeline_.shown_range.from && mark.seconds <= timeline_.shown_range.to)
        write_line("mark at " + time_text(mark.seconds) + ": " + mark.name);
  }

 private:
  void write_line(const std::string& text) { out_ << text_for(text, utf8_) << '\n'; }

  void write(const TimeLine& line) {
    const std::string name = cut_name(text_for(line_name(line), utf8_), name_width_, utf8_);
    out_ << padded(name, name_width_, false) << ' '
         << chart_of(line, timeline_.shown_range, chart_width_, utf8_);
    if (line.extremes)
      for (const int64_t value : {line.extremes->least, line.extremes->most, line.extremes->last})
        out_ << ' ' << padded(text_for(brief(value, line.type), utf8_), figure_width, true);
    out_ << '\n';
  }

  std::ostream& out_;
  const Timeline& timeline_;
  const bool utf8_;
  size_t name_width_ = 0, chart_width_ = 0;
};

}  // namespace

void write_timeline_text(std::ostream& out, const Timeline& timeline, const TimelineLooks& looks) {
  TimelineText(out, timeline, looks).run();
}

}  // namespace memflame
