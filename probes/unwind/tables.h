// SPDX-License-Identifier: BSD-2-Clause
// The unwind tables of all files with code that a run has met, in the memory that BPF programs
// search: one array of rows, filled from its beginning. Rows never move.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "core/recording.h"
#include "probes/unwind/cache.h"
#include "probes/unwind/table.h"

namespace memflame::unwind {

struct TableStatistics {
  uint64_t tables = 0, rows = 0;  // in the programs' memory
  uint64_t built = 0, from_cache = 0;
  uint64_t no_room = 0;    // tables that did not fit into it
  uint64_t malformed = 0;  // entries of files that could not be read
  double seconds = 0;      // of wall-clock time spent making them
};

class Tables {
 public:
  Tables();

  // Makes the tables of these files in parallel. `meanwhile` is called about once a millisecond
  // until they are made, which takes seconds for large programs; "" = this thread works too.
  void make(const std::vector<std::pair<ModuleId, const Module*>>& modules,
            const std::function<void()>& meanwhile = {});
  bool is_made(ModuleId id) const { return id.index < entries_.size() && entries_[id.index].made; }
  // Rows of all tables made so far.
  uint64_t rows_made() const { return rows_made_; }

  // Call it once the programs are loaded: `memory` holds their rows. Tables move there, as many as
  // fit.
  void move_to(std::span<row> memory);

  // A made table; its rows are empty once they are in the programs' memory.
  const Table& table(ModuleId id) const { return entries_[id.index].table; }
  // Where its rows are in that memory; `count` is 0 if there was no room for them.
  struct Place {
    uint32_t first = 0, count = 0;
  };
  Place place(ModuleId id) const { return entries_[id.index].place; }
  // Adds rows that belong to no file, once the programs are loaded; `count` is 0 if there was no
  // room.
  Place add(std::vector<row> rows);
  // The row for an offset from a table's base; row_none if there is none.
  row find(Place place, uint32_t offset) const;

  const TableStatistics& statistics() const { return statistics_; }
  const std::string& cache_problem() const { return cache_.problem(); }

 private:
  struct Entry {
    bool made = false;
    Table table;
    Place place;
  };
  void settle(Entry& entry);

  TableCache cache_;
  std::vector<Entry> entries_;  // by module
  std::span<row> memory_;
  size_t used_ = 0;
  uint64_t rows_made_ = 0;
  TableStatistics statistics_;
};

// A quick estimate of how many rows the table of a file will have, from the size of its unwind
// information; 0 if it has none.
uint64_t rows_expected(int fd);

}  // namespace memflame::unwind
