// SPDX-License-Identifier: BSD-2-Clause
// Pictures of a recording: the figures of one instant, of a stretch of time, or what is left of the
// blocks that were allocated in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/history.h"

namespace memflame {

enum class HistoryView : uint8_t {
  standard,  // growth between two times, else live, or what the probe shows if it has no blocks
  live,
  total,
  growth,
  survivors,
  // Only recordings with events have these (collapse/select/event_views.h).
  leaked,
  peak,
  freed,
  transient,
  churn,
};

bool parse_view(std::string_view text, HistoryView& view);  // false if it is not one of these
std::string name_of(HistoryView view);                      // as parse_view() takes it
std::vector<std::string> view_names();

// In nanoseconds since counting began.
struct HistoryRange {
  std::optional<uint64_t> at_ns{}, from_ns{}, until_ns{};
  HistoryView view = HistoryView::standard;
  friend bool operator==(const HistoryRange&, const HistoryRange&) = default;
};

// What a view shows in place of a recording's own sums.
struct ViewFigures {
  std::vector<ValueType> types{};
  size_t shown = 0;
  std::vector<Aggregate> sums{};
  std::vector<std::string> notes{};
  double seconds = 0;
  uint64_t from_ns = 0;   // when these begin; since counting began
  bool is_whole = false;  // all that was recorded: what was compared and lost belongs to it
};
Recording with_figures(Recording recording, ViewFigures figures);

// The recording of that instant or stretch: sums, columns, and notes on the times that were used.
// The looks at or before the given times are taken; without a time, the last look, or the begin.
// Throws Error if there is no such look, or if the run's probe has no such figures.
Recording recording_at(const History& history, const HistoryRange& range);
// The same without a copy of the tables, which the history loses. It keeps its looks, tracks and
// columns.
Recording take_recording_at(History& history, const HistoryRange& range);

}  // namespace memflame
