// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/report/report_of.h"

#include <algorithm>
#include <utility>

#include "collapse/history/named.h"
#include "collapse/report/known_names.h"
#include "collapse/select/event_blocks.h"
#include "collapse/symbolize/symbolize.h"
#include "core/error.h"

namespace memflame {
namespace {

// The recording's modules are a part of those that the run knows by now.
void take_open_files(std::vector<Module>& modules, const std::vector<Module>& open) {
  for (size_t i = 1; i < std::min(modules.size(), open.size()); ++i) {
    if (modules[i].path != open[i].path || modules[i].build_id != open[i].build_id) continue;
    modules[i].file = open[i].file;
    modules[i].root = open[i].root;
  }
}

void name(Recording& recording, const RecordingState& state, KnownNames* known) {
  const SymbolSources sources{.debug_servers = false};
  if (state.has_names || !state.is_this_boot || known == nullptr)
    return name_recording(recording, state, sources);
  Places places = find_places(recording);
  known->use(recording, places);
  const Places asked = places;
  symbolize(recording, std::move(places), sources);
  known->learn(recording, asked);
}

Report report_from(const Source& source, History& history, const RecordingState& state,
                   const ReportOptions& options) {
  if (!state.has_events) {
    if (!options.selection.empty() && options.limits.goes_on)
      throw Error("no block is recorded yet");
    if (!options.selection.empty())
      throw Error(options.selection.where.front().label +
                      " selects single blocks, and this recording has sums only; 'memflame record "
                      "--detail events' keeps every block",
                  ExitCode::usage);
    return report_of_changes(history, options);
  }
  const EventFile events([&] { return source.again(); }, history, state);
  EventBlocks blocks(events, history);
  Report report = report_of_blocks(blocks, history, options);
  for (std::string& note : blocks.notes()) report.profile.meta.notes.push_back(std::move(note));
  return report;
}

}  // namespace

Report report_of(Source& source, const ReportOptions& options) {
  RecordingState state;
  History history = read_history(source, state, options.limits);
  take_open_files(history.recording.modules, options.modules);
  name(history.recording, state, options.names);
  try {
    Report report = report_from(source, history, state, options);
    report.file = source.name();
    return report;
  } catch (const Error& error) {
    throw Error(source.name() + ": " + error.what(), error.exit_code, error.form);
  }
}

}  // namespace memflame
