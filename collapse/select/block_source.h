// SPDX-License-Identifier: BSD-2-Clause
// The blocks of a run, to be read as often as a selection needs. Nothing here holds all blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "collapse/events/block_fold.h"
#include "collapse/events/culled.h"
#include "core/events.h"
#include "core/history.h"
#include "core/recording.h"

namespace memflame {

// What a block stands for: itself, or those like it if blocks are sampled.
inline uint64_t bytes_of(const Block& block) {
  return block.weight != 0 ? block.weight : block.size;
}

// What selections refer to besides blocks. All of it outlives the selections.
struct RunFacts {
  // Stacks and spaces; locations and frames too (symbolize() has run) if names are asked for.
  const Recording& recording;
  std::span<const Thread> threads;  // by ThreadId::index
  std::span<const Mark> marks;      // in the order of time
  uint64_t end_ns = 0;              // of the recording
  // Sums of blocks that are not among the blocks, by RawStackId::index; empty if there are none.
  std::span<const CulledStack> culled{};
};

class BlockSource {
 public:
  using VisitBlock = std::function<void(const Block&, const Chain&)>;
  using VisitChange = std::function<void(const LiveChange&)>;

  virtual ~BlockSource() = default;
  virtual RunFacts facts() const = 0;
  // Whether they were recorded. Asked for only by selections that need them.
  virtual bool has_addresses() = 0;
  virtual bool has_free_stacks() = 0;
  // Every block once, in any order. Throws Error if the recording is damaged.
  virtual void for_each_block(const VisitBlock& visit) = 0;
  // Every change of live memory in the order of time. False if they are not known in that order:
  // what was visited until then is to be forgotten.
  virtual bool for_each_change(const VisitChange& /*visit*/) { return false; }
};

}  // namespace memflame
