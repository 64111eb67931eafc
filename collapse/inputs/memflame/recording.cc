// SPDX-License-Identifier: BSD-2-Clause
// Recordings of memflame: the figures of one instant or stretch of time, as ReadOptions::history
// says. The file's own names are used; if the run was not finished, its addresses are named with
// the files of this machine.
#include <future>
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
  try {
    recording = take_recording_at(history, options.history);
  } catch (const Error& error) {
    throw Error(source.name() + ": " + error.what(), error.exit_code);
  }
  name_recording(recording, state, sources_of(options));
  if (!options.comm)
    for (RawStack& stack : recording.stacks) stack.space = {};
  // Verdicts take as long as everything else, so a thread of their own makes them.
  std::future<std::optional<JudgedRun>> verdicts;
  if (options.verdicts)
    verdicts = std::async(std::launch::async, [&history, &recording, &options] {
      return judged_run(history, recording.stacks, options.history);
    });
  std::vector<StackId> stacks;
  Profile profile =
      fold(recording,
           {.pid = options.pid, .lines = options.lines, .code = options.code, .only_values = true},
           &stacks);
  if (!options.verdicts) return profile;
  const std::optional<JudgedRun> judged = verdicts.get();
  if (judged) profile.marks = marks_of(*judged, recording, profile, stacks);
  return profile;
}

}  // namespace memflame
