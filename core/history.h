// SPDX-License-Identifier: BSD-2-Clause
// History: the time axis of a run. A Recording says which stacks the memory belongs to; a History
// adds what their sums were at moments of the run, and what became of the blocks that were
// allocated in each stretch of time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/recording.h"

namespace memflame {

using TrackId = Id<struct TrackTag>;

// What figures over time belong to: a stack of one address space, and the frame between its process
// and the stack (Aggregate::group).
struct Track {
  RawStackId stack;
  SpaceId space;
  std::string group;
};

// A figure of the operating system, read at each look: "resident", "pressure".
struct Gauge {
  std::string name;
  Unit unit = Unit::bytes;
  uint8_t decimals = 0;  // the figure is in units of 10^-decimals
  friend bool operator==(const Gauge&, const Gauge&) = default;
};

// The gauges that pictures show; the others are parts of them, or so large that nothing else could
// be seen beside them.
inline constexpr std::string_view resident_gauge = "resident", cgroup_gauge = "control group";

inline constexpr int64_t no_reading = std::numeric_limits<int64_t>::min();

// One look at a run. All times are nanoseconds since counting began.
struct Look {
  // The figures of one track, since counting began.
  struct Row {
    TrackId track;
    std::vector<int64_t> values;  // one per Recording::types
    friend bool operator==(const Row&, const Row&) = default;
  };
  // What still lives of the blocks that a track allocated in one stretch of time.
  struct Cell {
    TrackId track;
    uint32_t stretch = 0;  // index in `stretches`
    int64_t bytes = 0, blocks = 0;
    uint32_t samples = 0;  // blocks that were really seen: fewer than `blocks` if these are sampled
    friend bool operator==(const Cell&, const Cell&) = default;
  };

  uint64_t time_ns = 0;
  std::vector<int64_t> gauges;  // one per History::gauges; no_reading if it was not read
  std::vector<Row> rows;        // of tracks whose figures changed since the look before, by track
  std::vector<SpaceId> ended;   // spaces whose processes have ended since the look before

  // A survey: the table of live blocks was read, too. It takes longer than reading the sums, so not
  // every look has one. A stretch begins at its entry here and ends where the next one begins, the
  // last at time_ns. Stretches begin at 0 or at an earlier survey. They double in length as they
  // grow old: a survey has those of the one before, of which some may have become one, and a new
  // one.
  std::vector<uint64_t> stretches;  // empty: not a survey
  std::vector<Cell> cells;          // all that live, by track, then by stretch

  bool is_survey() const { return !stretches.empty(); }
  friend bool operator==(const Look&, const Look&) = default;
};

struct Mark {
  uint64_t time_ns = 0;
  std::string name;
  friend bool operator==(const Mark&, const Mark&) = default;
};

struct History {
  // Without sums: the looks have them. Its stacks, spaces and modules are those of all looks.
  Recording recording;
  std::vector<Track> tracks{Track{}};
  std::vector<Gauge> gauges;
  std::vector<Look> looks;  // in the order of time
  std::vector<Mark> marks;
  // False: the run was still going on, or memflame was killed; the last look is all that is known.
  bool is_complete = false;
};

// The columns that probes which follow blocks have, and from which verdicts are made.
struct BlockColumns {
  size_t live = 0, live_count = 0, total = 0, total_count = 0;
};

// None if a column is missing.
std::optional<BlockColumns> block_columns(std::span<const ValueType> types);

// In a recording of several probes, the names of columns that are not those of blocks begin with
// their probe's: "fault-gained". The first column of each of these probes; empty if the recording
// is of one probe.
std::vector<size_t> first_columns_of_probes(std::span<const ValueType> types);

}  // namespace memflame
