// SPDX-License-Identifier: BSD-2-Clause
// Looks at a run that goes on (core/history.h): what changed in the kernel's sums since the look
// before, and what still lives of the blocks of each stretch of time.
//
// Cost, none of which the target pays: reading 100,000 sums takes 33 ms of memflame's processor
// time, a survey of a million blocks about 0.3 s.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/history.h"
#include "probes/processes/gone.h"
#include "probes/processes/spaces.h"
#include "probes/run/side_by_side.h"
#include "probes/run/stretches.h"
#include "probes/stacks/stack_log.h"

namespace memflame {

class RunFigures;

// Numbers of stacks whose places in a history are given back, which are set to none.
std::vector<uint32_t> forget_stacks(std::vector<RawStackId>& places, const Leaving& leaving);

// What the OS says at each look, in this order.
std::vector<Gauge> os_gauges();

class Looks {
 public:
  // The columns of each probe; times count from `start_ns` (CLOCK_MONOTONIC).
  Looks(std::vector<ProbeTypes> types, uint64_t start_ns);

  // Takes a look, and adds new stacks and tracks to the history's tables, which must be the same at
  // each call. A survey needs the times of blocks: ProbeOptions::ages.
  Look take(RunFigures& figures, History& history, bool survey);

  // A stack in the history's tables, to which it is added if it is new.
  RawStackId stack(const StackLog& log, uint64_t key, History& history,
                   const std::string& leaf = "");
  // See LiveRun::forget().
  std::vector<TrackId> forget(const IsGone& is_gone, History& history);
  // See LiveRun::hand_over(): these spaces have no figures any more. `moves`: of their stacks.
  Leaving leave(const IsGone& is_gone, std::span<const StackMove> moves, const StackLog& log,
                History& history);
  void let_go(const Leaving& leaving, History& history);
  // The track of a stack's blocks; none if the stack has not been seen.
  TrackId track_of(const StackLog& log, uint64_t key) const;

 private:
  struct Figures {
    uint64_t key = 0;
    std::string group, leaf;
    size_t first = 0;  // column
    std::vector<int64_t> values;
  };
  class Collector;
  Leaving take_out(const IsGone& is_gone, const History& history);
  static uint64_t known_key(const StackLog& log, uint64_t key);
  TrackId track(const StackLog& log, const Figures& figures, History& history);
  void add_changes(std::vector<int64_t>&& sums, Look& look);
  void add_survivors(RunFigures& figures, uint64_t now_ns, Look& look);
  void add_ended(const Spaces& spaces, uint64_t now_ns, Look& look);

  std::vector<ProbeTypes> types_;
  size_t columns_ = 0;  // of all probes
  uint64_t start_ns_;
  BirthStretches stretches_;
  std::unordered_map<uint64_t, RawStackId> stacks_;  // by the key that all copies share
  std::map<std::pair<RawStackId, std::string>, TrackId> tracks_;
  std::unordered_map<uint64_t, TrackId> track_of_key_;
  std::vector<int64_t> last_;                    // the figures of each track at the look before
  std::unordered_set<uint32_t> living_, ended_;  // spaces that have tracks
  // Places in the tables that forgotten spaces had.
  std::vector<TrackId> free_tracks_;
  std::vector<RawStackId> free_stacks_;
};

}  // namespace memflame
