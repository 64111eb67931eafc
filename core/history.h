// SPDX-License-Identifier: BSD-2-Clause
// History: the time axis of a run. A Recording says which stacks the memory belongs to; a History
// adds what their sums were at moments of the run, and what became of the blocks that were
// allocated in each stretch of time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/events.h"
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

// The figures of tracks, since counting began. A day has millions of rows, so all figures of a look
// lie in one table.
class LookRows {
 public:
  // Valid until the table changes.
  struct Row {
    TrackId track;
    std::span<const int64_t> values;  // one per Recording::types
  };
  class Iterator {
   public:
    Iterator(const LookRows& rows, size_t at) : rows_(rows), at_(at) {}
    Row operator*() const { return rows_[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const LookRows& rows_;
    size_t at_;
  };

  LookRows() = default;
  LookRows(std::initializer_list<std::pair<TrackId, std::vector<int64_t>>> rows) {
    for (const auto& [track, values] : rows) add(track, values);
  }

  // Throws Error if the other rows have another number of values.
  void add(TrackId track, std::span<const int64_t> values);
  void resize(size_t rows, size_t columns) {
    columns_ = columns;
    tracks_.resize(rows);
    values_.resize(rows * columns);
  }
  void reserve(size_t rows, size_t columns) {
    tracks_.reserve(rows);
    values_.reserve(rows * columns);
  }
  void clear() { resize(0, 0); }

  size_t size() const { return tracks_.size(); }
  size_t columns() const { return columns_; }
  bool empty() const { return tracks_.empty(); }
  Row operator[](size_t i) const {
    return {tracks_[i], std::span(values_).subspan(i * columns_, columns_)};
  }
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

  std::span<TrackId> tracks() { return tracks_; }
  std::span<int64_t> values() { return values_; }  // row by row
  std::span<int64_t> values_of(size_t i) { return values().subspan(i * columns_, columns_); }

  friend bool operator==(const LookRows&, const LookRows&) = default;

 private:
  size_t columns_ = 0;
  std::vector<TrackId> tracks_;
  std::vector<int64_t> values_;
};

// One look at a run. All times are nanoseconds since counting began.
struct Look {
  using Row = LookRows::Row;
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
  LookRows rows;                // of tracks whose figures changed since the look before, by track
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
  // What the events of the run refer to, and what is missing of them, if it has any:
  // collapse/history/event_file.h reads them.
  std::vector<Thread> threads{Thread{}};
  std::vector<EventGap> gaps;  // in the order of time
  // False: the run was still going on, or memflame was killed; the last look is all that is known.
  bool is_complete = false;
};

// What a run keeps no longer of many processes that have ended: what they left is that of other
// stacks from now on. Their places in the tables of a history are used again.
struct Leaving {
  struct Stack {
    RawStackId from, into;  // `into` has the same names; none: nobody knows
  };
  std::vector<Stack> stacks;
  std::vector<TrackId> tracks;
  bool empty() const { return stacks.empty() && tracks.empty(); }
};

// The columns that probes which follow blocks have, and from which verdicts are made.
struct BlockColumns {
  size_t live = 0, live_count = 0, total = 0, total_count = 0;
  bool is_collected = false;  // a garbage collector frees them: there is a collected_column
};

// What a garbage collector has freed. Figures with this column are those of the latest collection,
// and nobody knows how old a block is.
inline constexpr std::string_view collected_column = "collected";

// None if a column is missing.
std::optional<BlockColumns> block_columns(std::span<const ValueType> types);

// In a recording of several probes, the names of columns that are not those of blocks begin with
// their probe's: "fault-gained". The first column of each of these probes; empty if the recording
// is of one probe.
std::vector<size_t> first_columns_of_probes(std::span<const ValueType> types);

}  // namespace memflame
