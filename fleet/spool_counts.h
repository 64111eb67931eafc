// SPDX-License-Identifier: BSD-2-Clause
// What became of windows. The counts are kept in a small file of the spool, so that they go on when
// memflame starts again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace memflame {

// For one output: taken = sent + refused + dropped + damaged + vanished + waiting.
struct OutputCounts {
  uint64_t taken = 0;  // windows that were meant for it
  uint64_t sent = 0, sent_bytes = 0;
  uint64_t refused = 0;   // by the store, for good
  uint64_t dropped = 0;   // the spool or its disk was full
  uint64_t damaged = 0;   // the file in the spool was not a window any more
  uint64_t vanished = 0;  // memflame was killed right after it sent them, or somebody removed them
  uint64_t waiting = 0;
  friend bool operator==(const OutputCounts&, const OutputCounts&) = default;
};

struct SpoolCounts {
  uint64_t taken = 0;         // windows, each once, whatever the number of its outputs
  uint64_t dropped_full = 0;  // the oldest, because the spool had its most bytes
  uint64_t dropped_disk = 0;  // the newest, because they could not be written, or are too large
  uint64_t waiting = 0;
  uint64_t waiting_bytes = 0;  // as disks count: in whole pages
  std::map<std::string, OutputCounts> outputs;
  friend bool operator==(const SpoolCounts&, const SpoolCounts&) = default;
};

inline constexpr size_t most_outputs = 64;
// Letters, digits, '-', '_' and '.', at most 64; the first is not a '.'.
bool is_output_name(std::string_view name);

// The file. Two copies take turns, each with a number and a checksum, so that a crash while one is
// written leaves the other.
SpoolCounts read_counts(int file);  // zeros if no copy is whole
// False if it could not be written. The file keeps its size, so that a full disk does not matter
// on file systems that write in place.
bool write_counts(int file, const SpoolCounts& counts);

}  // namespace memflame
