// SPDX-License-Identifier: BSD-2-Clause
// Recordings of memflame: the figures of one instant or stretch of time, as ReadOptions::history
// says. The file's own names are used; if the run was not finished, its addresses are named with
// the files of this machine.
#include <algorithm>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "collapse/fold/fold.h"
#include "collapse/history/named.h"
#include "collapse/history/reader.h"
#include "collapse/history/views.h"
#include "collapse/inputs/readers.h"
#include "collapse/select/event_blocks.h"
#include "collapse/select/event_views.h"
#include "collapse/select/selection.h"
#include "collapse/verdicts/marks.h"
#include "core/error.h"

namespace memflame {
namespace {

SymbolSources sources_of(const ReadOptions& options) {
  SymbolSources sources;
  sources.files = sources.debug_servers = options.symbols;
  sources.code = options.code;
  if (!options.symbols) sources.kallsyms_path.clear();
  return sources;
}

bool has_figures(const History& history) {
  return std::any_of(history.looks.begin(), history.looks.end(),
                     [](const Look& look) { return !look.rows.empty(); });
}

// Whether what is asked for is made of the blocks of events, rather than of the sums of looks.
bool shows_blocks(const History& history, const RecordingState& state, const ReadOptions& options) {
  if (!state.has_events) return false;
  const HistoryRange& range = options.history;
  return !options.selection.empty() || range.view >= HistoryView::leaked || range.at_ns ||
         range.from_ns || range.until_ns || !has_figures(history);
}

// Throws Error (usage) if blocks are to be selected where there are none.
void require_events(const RecordingState& state, const ReadOptions& options) {
  if (options.selection.empty() || state.has_events) return;
  throw Error(options.selection.where.front().label +
                  " selects single blocks, and this recording has sums only; 'memflame record "
                  "--detail events' keeps every block",
              ExitCode::usage);
}

// The history loses its tables.
Recording take_recording_of_blocks(const Source& source, History& history,
                                   const RecordingState& state, const ReadOptions& options) {
  if (needs_of(options.selection).names)
    name_recording(history.recording, state, sources_of(options));
  const EventFile events([&] { return source.again(); }, history, state);
  EventBlocks blocks(events, history);
  ViewFigures figures = figures_of_blocks(blocks, options.history, options.selection);
  for (std::string& note : blocks.notes()) figures.notes.push_back(std::move(note));
  return with_figures(std::move(history.recording), std::move(figures));
}

}  // namespace

bool is_recording(std::string_view head) { return is_history(head); }

Profile read_recording(Source& source, const ReadOptions& options) {
  RecordingState state;
  History history = read_history(source, state);
  if (state.is_cut && options.refuse_truncated)
    source.fail(history.recording.meta.notes.empty() ? "it was not finished"
                                                     : history.recording.meta.notes.front());
  Recording recording;
  const bool is_of_blocks = shows_blocks(history, state, options);
  try {
    require_events(state, options);
    recording = is_of_blocks ? take_recording_of_blocks(source, history, state, options)
                             : take_recording_at(history, options.history);
  } catch (const Error& error) {
    throw Error(source.name() + ": " + error.what(), error.exit_code, error.form);
  }
  if (!is_of_blocks || !needs_of(options.selection).names)
    name_recording(recording, state, sources_of(options));
  if (!options.comm)
    for (RawStack& stack : recording.stacks) stack.space = {};
  // Verdicts take as long as everything else, so a thread of their own makes them. They judge all
  // blocks of a stack, so views of some blocks have none.
  const bool has_verdicts = options.verdicts && !is_of_blocks;
  std::future<std::optional<JudgedRun>> verdicts;
  if (has_verdicts)
    verdicts = std::async(std::launch::async, [&history, &recording, &options] {
      return judged_run(history, recording.stacks, options.history);
    });
  std::vector<StackId> stacks;
  Profile profile =
      fold(recording,
           {.pid = options.pid, .lines = options.lines, .code = options.code, .only_values = true},
           &stacks);
  if (!has_verdicts) return profile;
  const std::optional<JudgedRun> judged = verdicts.get();
  if (judged) profile.marks = marks_of(*judged, recording, profile, stacks);
  return profile;
}

}  // namespace memflame
