// SPDX-License-Identifier: BSD-2-Clause
// Events: what happened to each block of a run, one by one. A History has the sums of stacks over
// time; its events have the blocks that these sums are made of.
//
// All times are nanoseconds since counting began. A run may have 10^8 events and more: they are
// never held in memory together, but come in batches, in the order in which they happened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "core/ids.h"

namespace memflame {

using ThreadId = Id<struct ThreadTag>;

// Blocks are numbered from 1, about in the order of their allocations. A number is never used
// twice, an address may be. Some are missing: blocks that were lost, or are not recorded.
enum class BlockNumber : uint64_t { none = 0 };

// A thread of a watched process.
struct Thread {
  SpaceId space{};
  uint32_t tid = 0;  // as memflame sees it
  std::string name;
  friend bool operator==(const Thread&, const Thread&) = default;
};

enum class EventKind : uint8_t {
  allocation,
  // A realloc: the block `moved` ends, and goes on as this one.
  move,
  free,
  // A realloc has failed after its free was announced: the block lives on. It follows the free
  // before anything else of that thread.
  restore,
  // A space ends, by exit or exec: what lives in it then is leaked.
  end_of_space,
};

// Fields that a kind does not name in its comment are 0.
struct Event {
  EventKind kind = EventKind::allocation;
  uint64_t time_ns = 0;
  ThreadId thread{};                      // all but end_of_space; none if it is not known
  SpaceId space{};                        // end_of_space
  BlockNumber block = BlockNumber::none;  // all but end_of_space
  BlockNumber moved = BlockNumber::none;  // move
  RawStackId stack{};                     // allocation, move; free, if stacks of frees are recorded
  uint64_t address = 0;                   // allocation, move; 0 if addresses are not recorded
  uint64_t size = 0;                      // allocation, move: bytes
  // allocation, move: what the block stands for if blocks are sampled.
  uint64_t weight = 0;  // bytes; 0 = its size
  uint32_t count = 1;   // blocks
  friend bool operator==(const Event&, const Event&) = default;
};

// From here to there events were lost, though not all. A checkpoint with the blocks that live
// follows at its end: a block from before that is not in it was freed in the gap, at a time that is
// not known; a block in it that no event has announced was allocated in the gap, at the time that
// it has there. The last gap has no end if no events were recorded from there on.
struct EventGap {
  static constexpr uint64_t no_end = std::numeric_limits<uint64_t>::max();
  uint64_t from_ns = 0, until_ns = 0;
  uint64_t events = 0;  // how many were lost; 0 if that is not known
  friend bool operator==(const EventGap&, const EventGap&) = default;
};

// A block that lives at a checkpoint, as its allocation's event has it.
struct LiveBlock {
  BlockNumber block = BlockNumber::none;
  uint64_t allocated_ns = 0;
  ThreadId thread{};
  RawStackId stack{};
  uint64_t address = 0, size = 0, weight = 0;
  uint32_t count = 1;
  friend bool operator==(const LiveBlock&, const LiveBlock&) = default;
};

inline constexpr uint64_t never_freed = std::numeric_limits<uint64_t>::max();

// The story of one block, from its allocation to its realloc or free. A chain is what a realloc
// continues: blocks, one after the other.
struct Block {
  BlockNumber number = BlockNumber::none;
  BlockNumber first = BlockNumber::none;  // of its chain; its own if it is the first one
  uint64_t allocated_ns = 0;
  uint64_t freed_ns = never_freed;  // by a free, or by the realloc that moved it
  uint64_t end_ns = 0;              // when it was freed, or its space or the recording ended
  uint64_t address = 0, size = 0, weight = 0;
  uint32_t count = 1;
  uint32_t position = 1;  // in its chain
  ThreadId thread{}, freeing_thread{};
  RawStackId stack{}, freeing_stack{};
  bool moved = false;      // a realloc freed it, and its chain goes on
  bool transient = false;  // freed by the next heap call of the thread that allocated it
  // It began or ended in a gap: one of its times is not known. freed_ns is the gap's end then.
  bool uncertain = false;
  bool leaked() const { return freed_ns == never_freed; }
  uint64_t lifetime_ns() const { return end_ns - allocated_ns; }
  friend bool operator==(const Block&, const Block&) = default;
};

// A chain as a whole: what each of its blocks says of it.
struct Chain {
  uint32_t length = 1;
  uint64_t allocated_ns = 0, end_ns = 0;  // of its first block, of its last
  uint64_t first_size = 0, last_size = 0;
  bool leaked = false;  // its last block is
  uint64_t lifetime_ns() const { return end_ns - allocated_ns; }
  friend bool operator==(const Chain&, const Chain&) = default;
};

}  // namespace memflame
