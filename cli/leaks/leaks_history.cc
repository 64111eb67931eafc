// SPDX-License-Identifier: BSD-2-Clause
#include "cli/leaks/leaks_history.h"

#include "cli/files/heaptrack_input.h"
#include "collapse/history/named.h"
#include "core/error.h"

namespace memflame {

History read_blocks(const std::string& option, const std::string& path) {
  Source source = open_recording(path);
  if (!is_history(source.head()))
    throw Error(path + " is not a recording of memflame record: " + option + " takes FILE.mfr",
                ExitCode::failure);
  History history = read_named_history(source);
  if (!block_columns(history.recording.types))
    throw Error(path + " is a recording of " + history.recording.types.front().name +
                    ", which has no blocks to follow: record --probes alloc or kernel",
                ExitCode::failure);
  return history;
}

}  // namespace memflame
