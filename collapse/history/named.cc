// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/history/named.h"

#include <utility>

#include "collapse/symbolize/places.h"

namespace memflame {

void name_recording(Recording& recording, const RecordingState& state, SymbolSources sources) {
  if (state.has_names) return;
  Places places = find_places(recording);
  if (!state.is_this_boot) {
    if (!places.kernel.empty() && !sources.kallsyms_path.empty())
      recording.meta.notes.emplace_back(
          "kernel names unknown: the system was started anew since the recording");
    sources.kallsyms_path.clear();
  }
  symbolize(recording, std::move(places), sources);
}

History read_named_history(Source& source) {
  RecordingState state;
  History history = read_history(source, state);
  name_recording(history.recording, state, {.debug_servers = false});
  return history;
}

}  // namespace memflame
