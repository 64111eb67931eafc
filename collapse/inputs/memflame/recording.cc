// SPDX-License-Identifier: BSD-2-Clause
// Recordings of memflame: the figures of one instant or stretch of time, as ReadOptions::history
// says. The file's own names are used; if the run was not finished, its addresses are named with
// the files of this machine.
#include <optional>
#include <string>
#include <vector>

#include "collapse/fold.h"
#include "collapse/history/named.h"
#include "collapse/history/reader.h"
#include "collapse/history/views.h"
#include "collapse/input.h"
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

}  // namespace

bool is_recording(std::string_view head) { return is_history(head); }

Profile read_recording(Source& source, const ReadOptions& options) {
  RecordingState state;
  History history = read_history(source, state);
  if (state.is_cut && options.refuse_truncated)
    source.fail(history.recording.meta.notes.empty() ? "it was not finished"
                                                     : history.recording.meta.notes.front());
  Recording recording;
  std::optional<JudgedRun> judged;
  if (options.verdicts) judged = judged_run(history, options.history);
  try {
    recording = recording_at(std::move(history), options.history);
  } catch (const Error& error) {
    throw Error(source.name() + ": " + error.what(), error.exit_code);
  }
  name_recording(recording, state, sources_of(options));
  if (!options.comm) {
    for (RawStack& stack : recording.stacks) stack.space = {};
    if (judged)
      for (RawStack& stack : judged->stacks) stack.space = {};
  }
  std::vector<StackId> stacks;
  Profile profile =
      fold(recording,
           {.pid = options.pid, .lines = options.lines, .code = options.code, .only_values = true},
           &stacks);
  if (judged) profile.marks = marks_of(*judged, recording, profile, stacks);
  return profile;
}

}  // namespace memflame
