// SPDX-License-Identifier: BSD-2-Clause
// Recordings of memflame: the figures of one instant or stretch of time, as ReadOptions::history
// says. The file's own names are used; if the run was not finished, its addresses are named with
// the files of this machine.
#include <algorithm>
#include <string>

#include "collapse/fold.h"
#include "collapse/history/reader.h"
#include "collapse/history/views.h"
#include "collapse/input.h"
#include "collapse/inputs/addresses.h"
#include "collapse/symbolize/symbolize.h"
#include "core/error.h"

namespace memflame {
namespace {

void name(Recording& recording, bool is_this_boot, const ReadOptions& options) {
  SymbolSources sources;
  sources.files = sources.debug_servers = options.symbols;
  sources.code = options.code;
  if (!options.symbols || !is_this_boot) sources.kallsyms_path.clear();
  Places places = find_places(recording);
  if (!places.kernel.empty() && !is_this_boot && options.symbols)
    recording.meta.notes.emplace_back(
        "kernel names unknown: the system was started anew since the recording");
  symbolize(recording, std::move(places), sources);
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
    recording = recording_at(std::move(history), options.history);
  } catch (const Error& error) {
    throw Error(source.name() + ": " + error.what(), error.exit_code);
  }
  if (!state.has_names) name(recording, state.is_this_boot, options);
  if (!options.comm)
    for (RawStack& stack : recording.stacks) stack.space = {};
  return fold(recording, {.pid = options.pid, .lines = options.lines, .code = options.code});
}

}  // namespace memflame
