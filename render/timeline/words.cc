// SPDX-License-Identifier: BSD-2-Clause
#include "render/timeline/words.h"

#include <algorithm>

#include "core/units.h"
#include "render/timeline/ticks.h"

namespace memflame {
namespace {

// "allocations: most 2,000 at 83 s · last 12 · the 10 largest of 34 stacks". A total in bytes is in
// the picture itself.
std::string totals_text(const Timeline& timeline) {
  std::string text;
  if (!timeline.totals.empty() && timeline.totals.front().type.unit != Unit::bytes)
    text = timeline.totals.front().name + ": " +
           extremes_text(timeline.totals.front().whole_extremes, timeline.shown) + " · ";
  const auto count = static_cast<int64_t>(timeline.stacks);
  const auto drawn =
      std::count_if(timeline.bands.begin(), timeline.bands.end(),
                    [](const TimeLine& band) { return band.kind == LineKind::stack; });
  if (drawn < count) text += "the " + with_commas(drawn) + " largest of ";
  return text + with_commas(count) + (count == 1 ? " stack" : " stacks");
}

}  // namespace

std::string timeline_title(const Timeline& timeline) {
  if (!timeline.meta.title.empty()) return timeline.meta.title;
  std::string title = timeline.shown.name;
  if (timeline.shown.unit == Unit::bytes && title != "bytes") title += " bytes";
  if (!title.empty() && title.front() >= 'a' && title.front() <= 'z')
    title.front() = static_cast<char>(title.front() - 'a' + 'A');
  return title + " over time";
}

std::vector<Caption> timeline_captions(const Timeline& timeline) {
  std::vector<Caption> figures{{totals_text(timeline), Tone::figure}};
  if (!timeline.meta.sampling.empty())
    figures.push_back({"estimated from samples (" + timeline.meta.sampling + ")", Tone::figure});
  if (!timeline.shaded.empty())
    figures.push_back({"the stacks' lines are from " + time_text(timeline.shown_range.from) +
                           " to " + time_text(timeline.shown_range.to),
                       Tone::figure});
  if (!timeline.is_complete)
    figures.push_back(
        {"the recording has no end: nothing is known after " + time_text(timeline.whole.to),
         Tone::warning});
  std::vector<Caption> lines = run_captions(timeline.meta, figures, timeline.losses);
  for (const std::string& note : timeline.meta.notes) lines.push_back({note});
  std::erase_if(lines, [](const Caption& line) { return line.text.empty(); });
  return lines;
}

std::string line_name(const TimeLine& line) {
  if (line.kind != LineKind::rest) return line.name;
  return line.name + " (" + with_commas(static_cast<int64_t>(line.stacks)) +
         (line.stacks == 1 ? " stack)" : " stacks)");
}

std::string extremes_text(const std::optional<TimeLine::Extremes>& extremes,
                          const ValueType& type) {
  if (!extremes) return "";
  return "most " + brief(extremes->most, type) + " at " + time_text(extremes->most_at) +
         " · last " + brief(extremes->last, type);
}

std::string frames_text(const TimeLine& line) {
  if (line.frames.empty()) return line_name(line);
  std::string text;
  for (const std::string& frame : line.frames) text += (text.empty() ? "" : "\n") + frame;
  return text;
}

std::vector<const TimeLine*> all_lines(const Timeline& timeline) {
  std::vector<const TimeLine*> lines;
  for (const auto* group : {&timeline.gauges, &timeline.totals, &timeline.bands})
    for (const TimeLine& line : *group) lines.push_back(&line);
  return lines;
}

}  // namespace memflame
