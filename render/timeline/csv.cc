// SPDX-License-Identifier: BSD-2-Clause
#include "core/units.h"
#include "render/text/clean_text.h"
#include "render/text/csv_field.h"
#include "render/timeline/timeline_output.h"
#include "render/timeline/words.h"

namespace memflame {
namespace {

std::string_view line_kind(LineKind kind) {
  switch (kind) {
    case LineKind::gauge:
      return "system";
    case LineKind::total:
      return "total";
    case LineKind::stack:
      return "stack";
    case LineKind::rest:
      break;
  }
  return "rest";
}

// Frames with ';' between them, as folded text has them.
std::string folded(const TimeLine& line) {
  uint64_t replaced = 0;
  std::string text;
  for (const std::string& frame : line.frames) {
    std::string clean = clean_text(frame, replaced);
    for (char& c : clean)
      if (c == ';') c = ':';
    text += (text.empty() ? "" : ";") + clean;
  }
  return text;
}

}  // namespace

// A row per point within the range that is shown; no value if the figure could not be read. Two
// stacks may have one label, so the whole stack is there too.
void write_timeline_csv(std::ostream& out, const Timeline& timeline, const TimelineLooks&) {
  out << "seconds,line,value,unit,kind,stack\r\n";
  for (const TimeLine* line : all_lines(timeline)) {
    uint64_t replaced = 0;
    const std::string name = csv_field(clean_text(line->name, replaced));
    const std::string rest = ',' + std::string(memflame::name(line->type.unit)) + ',' +
                             std::string(line_kind(line->kind)) + ',' + csv_field(folded(*line)) +
                             "\r\n";
    for (const TimePoint& point : line->points) {
      if (point.seconds < timeline.shown_range.from || point.seconds > timeline.shown_range.to)
        continue;
      out << number_text(point.seconds) << ',' << name << ',';
      if (point.value) out << plain(*point.value, line->type.decimals);
      out << rest;
    }
  }
}

}  // namespace memflame
