// SPDX-License-Identifier: BSD-2-Clause
// Tells agents what code is where: the unwind tables of all files with code, and for each process a
// sorted list of its executable memory.
//
// Rows never move, and a list never changes: a new one is written beside the old one, whose place
// is left alone for a second, for the walks that have begun. Cost: reading the mappings of a
// process and publishing its list takes 0.1 ms; making a table that is not in the cache takes
// 10 ms a megabyte of code.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "probes/inside/exchange/exchange.h"
#include "probes/processes/spaces.h"
#include "probes/run/code_entries.h"
#include "probes/run/made_code.h"
#include "probes/unwind/tables.h"

namespace memflame::inside {

// Places in the tables' list of code ranges.
class RangeRoom {
 public:
  static constexpr uint64_t rest_ns = 1'000'000'000;

  explicit RangeRoom(uint32_t size) : free_{{0, size}} {}
  // False if there is no room.
  bool take(uint32_t count, uint64_t now_ns, uint32_t& first);
  // Not used again for rest_ns.
  void give(uint32_t first, uint32_t count, uint64_t now_ns);

 private:
  struct Retired {
    uint64_t time_ns;
    uint32_t first, count;
  };
  void reuse(uint64_t now_ns);

  std::map<uint32_t, uint32_t> free_;  // first -> count
  std::deque<Retired> retired_;
};

class CodeTables {
 public:
  // Both must outlive this. `meanwhile` is called about once a millisecond while tables are made:
  // other processes must not wait for that.
  CodeTables(Exchange& exchange, Spaces& spaces, std::function<void()> meanwhile = {});

  // Publishes the code that a space has now, for its process's agent, if that has changed. `before`
  // is called just before agents see it.
  void publish(uint32_t process, SpaceId space, const std::function<void()>& before = {});
  void release(uint32_t process, SpaceId space);

  const unwind::TableStatistics& statistics() const { return tables_.statistics(); }
  const std::string& cache_problem() const { return tables_.cache_problem(); }
  uint64_t refused() const { return refused_; }  // lists for which there was no room

 private:
  std::vector<CodeRange> list_of(SpaceId space);

  Exchange& exchange_;
  Spaces& spaces_;
  std::function<void()> meanwhile_;
  unwind::Tables tables_;
  MadeCode made_code_;
  RangeRoom room_{most_code_ranges};
  std::vector<std::pair<uint32_t, uint32_t>> lists_;  // by process: first, count
  uint64_t refused_ = 0;
};

}  // namespace memflame::inside
