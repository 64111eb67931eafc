// SPDX-License-Identifier: BSD-2-Clause
// Tells an event log what happens to the blocks of a run inside, while the live table learns it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/events.h"
#include "probes/inside/live_blocks.h"
#include "probes/inside/ticks.h"
#include "probes/run/event_log.h"

namespace memflame::inside {

class BlockEvents {
 public:
  // All must outlive this. `blocks` has none yet. `free_stacks`: agents tell the stacks of frees.
  BlockEvents(LiveBlocks& blocks, EventLog& log, const Ticks& ticks, bool free_stacks = false);

  // What is known of a ring's thread.
  struct Teller {
    uint32_t ring = 0;
    ThreadId thread;
    // A block that a realloc has freed, until it is known how the realloc ended.
    BlockNumber leaving = BlockNumber::none;
    uint64_t left_ticks = 0;
    LiveBlocks::Freed freed;  // its last free, as LiveBlocks has it
    BlockNumber freed_number = BlockNumber::none;
  };

  // A thread begins: `thread` is its id as itself knows it.
  void begin(Teller& teller, SpaceId space, pid_t process, uint32_t thread);
  // The thread says nothing more.
  void end(Teller& teller) { settle(teller); }
  void end_of_space(SpaceId space);

  // `is_realloc`: the function may continue a block that is leaving.
  void allocate(Teller& teller, const LiveEntry& block, bool is_realloc);
  struct Free {
    uint32_t space = 0;
    uint64_t address = 0, ticks = 0;
    uint32_t stack = 0;   // 0 = not told
    bool leaves = false;  // it is a realloc that frees
  };
  void free(Teller& teller, const Free& free);
  void restore(Teller& teller, uint64_t address, uint64_t ticks);
  void lose(Teller& teller, uint64_t records, uint64_t ticks);

  // The blocks that live now.
  Checkpoint checkpoint(uint64_t now_ns) const;

 private:
  uint64_t time_of(uint64_t ticks) const { return log_.since_start(ticks_.ns(ticks)); }
  void settle(Teller& teller, uint32_t stack = 0);
  void add_free(ThreadId thread, BlockNumber block, uint64_t ticks, uint32_t stack = 0);

  // Ends the time in which a block leaves.
  BlockNumber take_leaving(Teller& teller);

  LiveBlocks& blocks_;
  EventLog& log_;
  const Ticks& ticks_;
  bool free_stacks_;
  std::unordered_set<uint32_t> ended_;                      // spaces
  std::vector<std::pair<BlockNumber, LiveEntry>> leaving_;  // of all threads: not in the table
};

}  // namespace memflame::inside
