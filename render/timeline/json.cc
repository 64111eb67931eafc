// SPDX-License-Identifier: BSD-2-Clause
#include <nlohmann/json.hpp>

#include "core/units.h"
#include "render/text/clean_text.h"
#include "render/timeline/timeline_output.h"
#include "render/timeline/words.h"

namespace memflame {
namespace {

using TimelineJson = nlohmann::ordered_json;

std::string clean(const std::string& text) {
  uint64_t replaced = 0;
  return clean_text(text, replaced);
}

std::string_view kind_word(LineKind kind) {
  switch (kind) {
    case LineKind::gauge:
      return "gauge";
    case LineKind::total:
      return "total";
    case LineKind::stack:
      return "stack";
    case LineKind::rest:
      break;
  }
  return "rest";
}

TimelineJson range_json(const TimeRange& range) { return {range.from, range.to}; }

// Points are [seconds, value]; a value holds until the next point, and null is one that could not
// be read.
TimelineJson line_json(const TimeLine& line) {
  TimelineJson json = {
      {"kind", kind_word(line.kind)}, {"name", clean(line.name)}, {"unit", name(line.type.unit)}};
  if (line.type.decimals != 0) json["decimals"] = line.type.decimals;
  if (line.stacks != 0) json["stacks"] = line.stacks;
  if (!line.frames.empty()) {
    TimelineJson& frames = json["frames"] = TimelineJson::array();
    for (const std::string& frame : line.frames) frames.push_back(clean(frame));
  }
  if (line.extremes)
    json.update({{"least", line.extremes->least},
                 {"most", line.extremes->most},
                 {"most_at", line.extremes->most_at},
                 {"last", line.extremes->last}});
  TimelineJson& points = json["points"] = TimelineJson::array();
  for (const TimePoint& point : line.points)
    points.push_back({point.seconds, point.value ? TimelineJson(*point.value) : TimelineJson()});
  return json;
}

TimelineJson facts_json(const Timeline& timeline) {
  const Meta& meta = timeline.meta;
  TimelineJson json = {{"format", "memflame-timeline"},
                       {"version", 1},
                       {"title", clean(timeline_title(timeline))},
                       {"command", clean(meta.command)},
                       {"host", clean(meta.host)},
                       {"seconds", meta.seconds},
                       {"complete", timeline.is_complete},
                       {"sampling", clean(meta.sampling)},
                       {"shown", clean(timeline.shown.name)},
                       {"stacks", timeline.stacks},
                       {"whole", range_json(timeline.whole)},
                       {"range", range_json(timeline.shown_range)}};
  TimelineJson& marks = json["marks"] = TimelineJson::array();
  for (const TimeMark& mark : timeline.marks)
    marks.push_back({{"seconds", mark.seconds}, {"name", clean(mark.name)}});
  TimelineJson& notes = json["notes"] = TimelineJson::array();
  for (const std::string& note : meta.notes) notes.push_back(clean(note));
  TimelineJson& losses = json["losses"] = TimelineJson::object();
  for (size_t i = 0; i < loss_info.size(); ++i) {
    const LossCount& count = timeline.losses[static_cast<Loss>(i)];
    losses[std::string(loss_info[i].name)] = {{"events", count.events}, {"bytes", count.bytes}};
  }
  return json;
}

}  // namespace

// A line of text per line, so that it can be looked at and compared.
void write_timeline_json(std::ostream& out, const Timeline& timeline, const TimelineLooks&) {
  const auto text = [](const TimelineJson& json) {
    return json.dump(-1, ' ', false, TimelineJson::error_handler_t::replace);
  };
  std::string facts = text(facts_json(timeline));
  facts.pop_back();
  out << facts << ",\n\"lines\":[";
  const char* separator = "\n";
  for (const TimeLine* line : all_lines(timeline)) {
    out << separator << text(line_json(*line));
    separator = ",\n";
  }
  out << "]}\n";
}

}  // namespace memflame
