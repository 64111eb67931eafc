// SPDX-License-Identifier: BSD-2-Clause
// Counters and instants in the trace event format of Chrome, which Perfetto and others open.
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "render/text/clean_text.h"
#include "render/timeline/timeline_output.h"
#include "render/timeline/words.h"

namespace memflame {
namespace {

using TraceJson = nlohmann::ordered_json;

constexpr int process = 1;  // all counters are of one, which has the timeline's title

std::string shown_name(const std::string& name) {
  uint64_t replaced = 0;
  return clean_text(name, replaced);
}

TraceJson trace_event(const char* phase, const std::string& name, double seconds) {
  return {{"ph", phase}, {"pid", process}, {"tid", 0}, {"ts", seconds * 1e6}, {"name", name}};
}

// Counters are numbers, whatever their unit: figures with a fraction become one.
TraceJson counter_value(const TimeLine& line, int64_t value) {
  if (line.type.decimals == 0) return value;
  return static_cast<double>(value) / std::pow(10, line.type.decimals);
}

}  // namespace

// A counter keeps its value until the next event of its name, as a line does. Where a figure could
// not be read there is no event: the format has no word for it.
void write_timeline_trace(std::ostream& out, const Timeline& timeline, const TimelineLooks&) {
  const char* separator = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  const auto write = [&](const TraceJson& event) {
    out << separator << event.dump(-1, ' ', false, TraceJson::error_handler_t::replace);
    separator = ",\n";
  };
  TraceJson title = trace_event("M", "process_name", 0);
  title["args"]["name"] = shown_name(timeline_title(timeline));
  write(title);
  // Counters of one name would be one line, and two stacks may have one label.
  std::map<std::string, int> uses;
  for (const TimeLine* line : all_lines(timeline)) {
    std::string name = shown_name(line_name(*line));
    if (const int use = ++uses[name]; use > 1) name += " #" + std::to_string(use);
    const std::string unit(memflame::name(line->type.unit));
    for (const TimePoint& point : line->points) {
      if (!point.value || point.seconds < timeline.shown_range.from ||
          point.seconds > timeline.shown_range.to)
        continue;
      TraceJson event = trace_event("C", name, point.seconds);
      event["args"][unit] = counter_value(*line, *point.value);
      write(event);
    }
  }
  for (const TimeMark& mark : timeline.marks) {
    TraceJson event = trace_event("i", shown_name(mark.name), mark.seconds);
    event["s"] = "p";
    write(event);
  }
  out << "\n]}\n";
}

}  // namespace memflame
