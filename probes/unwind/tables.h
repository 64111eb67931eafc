// SPDX-License-Identifier: BSD-2-Clause
// The unwind tables of all files with code that a run has met, in the memory that BPF programs
// search: one array of rows, filled from its beginning. Rows never move.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
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
  double seconds = 0;      // spent on all that, as the clock on the wall says
};

class Tables {
 public:
  Tables();

  // Makes the tables of these files, side by side.
  void make(const std::vector<std::pair<ModuleId, const Module*>>& modules);
  bool is_made(ModuleId id) const { return id.index < entries_.size() && entries_[id.index].made; }
  // Rows of all tables made so far.
  uint64_t rows_made() const { return rows_made_; }

  // Where the programs' rows are, once they are loaded: tables move there, as many as fit.
  void move_to(std::span<row> memory);

  // A made table; its rows are empty once they are in the programs' memory.
  const Table& table(ModuleId id) const { return entries_[id.index].table; }
  // Where its rows are in that memory; `count` is 0 when there was no room for them.
  struct Place {
    uint32_t first = 0, count = 0;
  };
  Place place(ModuleId id) const { return entries_[id.index].place; }
  // Where rows of no file are, once they are loaded; `count` is 0 when there was no room for them.
  Place add(std::vector<row> rows);
  // The row for an offset from a table's base; row_none when there is none.
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

// How many rows the table of a file will have, roughly and at once, from the size of its unwind
// information; 0 when it has none.
uint64_t rows_expected(int fd);

}  // namespace memflame::unwind
