// SPDX-License-Identifier: BSD-2-Clause
// Reads a recording, up to its end or to where it is damaged.
#pragma once

#include <cstdint>
#include <string_view>

#include "collapse/source/source.h"
#include "core/history.h"

namespace memflame {

struct HistoryReadLimits {
  // Looks that take more memory than this are thinned as they are when a recording is written with
  // a limit (collapse/history/thin.h); a note says so.
  uint64_t look_bytes = uint64_t{1} << 30U;
  // The same for surveys alone: every second one is left out.
  uint64_t survey_bytes = uint64_t{256} << 20U;
  bool goes_on = false;  // it is still written, so nobody needs to be told that it lacks an end
};

// Where the names of a recording are, or where they would be: behind everything but its end.
struct NamesPlace {
  uint64_t byte = 0;
  uint64_t chunks = 0;  // before it
  size_t texts = 0;     // in the table of texts there, without the empty one
};

// What a recording says beside its history.
struct RecordingState {
  bool has_names = false;
  bool is_this_boot = false;  // kernel addresses are those of the running kernel
  bool is_cut = false;        // it was not finished, or its end is damaged
  bool is_damaged = false;    // something may follow what was read
  NamesPlace names;
  uint64_t bytes = 0;       // of the file that were read: whole chunks
  bool has_events = false;  // collapse/history/event_file.h reads them
  // As the end of the file has them, without what the reader adds; empty if it was not finished.
  Meta end;
  Losses end_losses;
};

bool is_history(std::string_view head);

// Its tables and all whole looks. If the file has no names, recording.frames is empty and the
// recording is still to be symbolized. recording.meta.notes say what is missing. Throws Error if
// the file is not a recording, has not a single look, or was written by a later memflame in a way
// that cannot be read.
History read_history(Source& source, RecordingState& state, const HistoryReadLimits& limits = {});
History read_history(Source& source);

}  // namespace memflame
