// SPDX-License-Identifier: BSD-2-Clause
// Names for the addresses of a recording. A run that ended wrote them to the file; for one that did
// not, they are looked up on this machine.
#pragma once

#include "collapse/history/reader.h"
#include "collapse/symbolize/symbolize.h"
#include "core/history.h"

namespace memflame {

// Does nothing if the file had names. Kernel addresses mean something until the next boot only.
void name_recording(Recording& recording, const RecordingState& state, SymbolSources sources);

// read_history() and its names, for commands that need all stacks.
History read_named_history(Source& source);

}  // namespace memflame
