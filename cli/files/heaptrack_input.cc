// SPDX-License-Identifier: BSD-2-Clause
#include "cli/files/heaptrack_input.h"

#include <atomic>
#include <memory>
#include <utility>

#include "cli/files/live_file.h"
#include "collapse/input.h"
#include "collapse/inputs/heap/bytehound.h"
#include "core/error.h"
#include "fleet/clickhouse/question.h"

namespace memflame {

const std::string_view heaptrack_has_sums =
    "heaptrack_interpret has left out which block each free was of, so it has sums only. Give what "
    "'heaptrack --raw' records, or record with 'memflame record --detail events'";

bool is_recorded_elsewhere(std::string_view head) {
  return is_heaptrack_raw(head) || is_bytehound(head);
}

Source open_input(const std::string& path, const HeaptrackRawOptions& options) {
  if (is_store_address(path))
    throw Error(
        "a store has sums of windows, not a recording: render, collapse, diff, leaks and "
        "timeline read it",
        ExitCode::usage);
  Source source = Source::open(path);
  if (!is_recorded_elsewhere(source.head())) return source;
  LiveFile recording;
  std::unique_ptr<HistoryFile> file = recording.observed(private_recording());
  if (is_bytehound(source.head()))
    record_bytehound(source, std::move(file),
                     {.files = options.files, .refuse_truncated = options.refuse_truncated});
  else
    record_heaptrack(source, std::move(file), options);
  return recording.open(source.name(), std::make_shared<const std::atomic<bool>>(false));
}

Source open_recording(const std::string& path) {
  Source source = open_input(path);
  if (is_heaptrack(source.head())) source.fail(std::string(heaptrack_has_sums));
  return source;
}

}  // namespace memflame
