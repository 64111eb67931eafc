// SPDX-License-Identifier: BSD-2-Clause
// Makes blocks and chains of events. Only what is open is kept: blocks that live, and the earlier
// blocks of their chains.
//
// It accepts any sequence of events. Those that contradict what is known before them are counted,
// and change nothing else; but a checkpoint is always right.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "collapse/events/event_sink.h"
#include "core/history.h"

namespace memflame {

struct FoldCounts {
  uint64_t blocks = 0, chains = 0;  // handed on
  uint64_t gaps = 0, checkpoints = 0;

  // Frees and reallocs of blocks that are not known. That is usual for what was allocated before
  // the recording began, or is not recorded.
  uint64_t frees_of_unknown = 0;
  // An allocation of a block that lives already or whose space has ended, a restore without its
  // free. Nothing of this comes from a recording that is right.
  uint64_t contradictions = 0;
  // At checkpoints without a gap before them, where events should have told the same: blocks that
  // are not in the checkpoint though nothing freed them; blocks in it that no event announced; and
  // blocks that have another size, stack, address, weight or count there.
  uint64_t missing = 0, unannounced = 0, different = 0;
  // Blocks that were freed in gaps; blocks that were allocated in gaps and outlived them.
  uint64_t freed_in_gaps = 0, allocated_in_gaps = 0;
  // Blocks whose end is not known, since no checkpoint follows a gap.
  uint64_t lost = 0;
  // Blocks that lived on after a free of theirs, since it belonged to a realloc that failed.
  uint64_t restores = 0;

  uint64_t differences() const { return missing + unannounced + different; }
  friend bool operator==(const FoldCounts&, const FoldCounts&) = default;
};

// Memory that became live or was freed.
struct LiveChange {
  uint64_t time_ns = 0;
  RawStackId stack;  // that allocated it
  bool is_free = false;
  uint64_t bytes = 0;  // that the block stands for
};

class BlockFold : public EventSink {
 public:
  // Gets each block once, when the last block of its chain has ended. The blocks of a chain come
  // one after the other, in their order; chains come in no particular order. What they refer to is
  // valid until the call returns.
  using Visit = std::function<void(const Block&, const Chain&)>;
  // Gets what changes while the events are taken, a free before it is certain.
  using Change = std::function<void(const LiveChange&)>;

  // The tables of `history` say which space a stack and a thread belong to. It outlives the fold,
  // and may grow.
  BlockFold(const History& history, Visit visit, Change change = {});
  ~BlockFold() override;

  void events(std::span<const Event> events) override;
  void gap(const EventGap& gap) override;
  void checkpoint(const CheckpointPart& part) override;

  // Hands on all that still lives: leaked, until the recording's end at `end_ns`. A gap that no
  // checkpoint follows makes these uncertain. Nothing may follow.
  void finish(uint64_t end_ns);

  // What was taken so far.
  const FoldCounts& counts() const;
  // Whether the changes so far were those of the blocks, in the order of time: nothing came out
  // later than it happened, or was taken back.
  bool changes_are_exact() const;
  // Blocks that live.
  uint64_t open_blocks() const;

 private:
  class Folder;
  std::unique_ptr<Folder> folder_;
};

}  // namespace memflame
