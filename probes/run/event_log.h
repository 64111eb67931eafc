// SPDX-License-Identifier: BSD-2-Clause
// The events of blocks as a collector sees them (core/events.h), until they are written.
//
// A run must not wait for a disk. So events are kept up to a limit; beyond it a gap begins, which
// the next batch ends with a checkpoint: the blocks that live by then. A collector that can make
// programs wait does so once half of the room is taken (is_full()), for the time that writing
// usually takes; open_gap() ends that. Sums and the live table do not go through here, so a gap
// changes no figure. Cost: 72 bytes an event that is kept, and a few ns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/events.h"

namespace memflame {

struct Checkpoint {
  uint64_t time_ns = 0;
  std::vector<LiveBlock> blocks;
};

// In this order: events, then what was lost among and behind them, then what lives after that.
// `stack` of events and blocks is the collector's own number of a stack.
struct EventBatch {
  std::vector<Event> events;
  std::vector<EventGap> gaps;
  std::optional<Checkpoint> checkpoint;
  uint64_t lost = 0;  // events that had come and did not fit
};

// Puts the stacks of a history in the place of the collector's numbers.
template <class Place>
void place_stacks(EventBatch& batch, const Place& place) {
  for (Event& event : batch.events)
    if (event.stack) event.stack = place(event.stack);
  if (!batch.checkpoint) return;
  for (LiveBlock& block : batch.checkpoint->blocks)
    if (block.stack) block.stack = place(block.stack);
}

class EventLog {
 public:
  // Events that are kept, at most. Times count from `start_ns` on.
  static constexpr size_t usual_most = size_t{1} << 20U;
  explicit EventLog(uint64_t start_ns, size_t most = usual_most)
      : start_ns_(start_ns), most_(most) {}

  BlockNumber new_number() { return static_cast<BlockNumber>(++numbers_); }
  // CLOCK_MONOTONIC to the time of events.
  uint64_t since_start(uint64_t ns) const { return ns > start_ns_ ? ns - start_ns_ : 0; }

  // Times never go back: one that is earlier than that of the event before becomes that one's.
  // Clocks of processors differ by less than a microsecond.
  void add(const Event& event) {
    newest_ns_ = std::max(newest_ns_, event.time_ns);
    if (gap_ || events_.size() >= most_) return add_to(gap_, 1, newest_ns_);
    events_.push_back(event);
    events_.back().time_ns = newest_ns_;
  }
  // Allocations were lost before they came here, of which the live table does not know either.
  void lose(uint64_t count, uint64_t time_ns) { add_to(lost_, count, time_ns); }
  // Events were lost from then on, of which the live table knows.
  void lose_known(uint64_t count, uint64_t time_ns) { add_to(gap_, count, time_ns); }

  ThreadId new_thread(SpaceId space, uint32_t tid, std::string name);
  // Appends those that are new; `known` has had the others from here, too.
  void add_threads_to(std::vector<Thread>& known);
  // For a thread that nobody was told of so far.
  void place(ThreadId thread, SpaceId space) { new_threads_[thread.index - told_].space = space; }

  size_t size() const { return events_.size(); }
  bool has_gap() const { return gap_.has_value(); }
  bool is_full() const { return !gap_ && events_.size() >= most_ / 2; }
  // What comes before the next batch is lost.
  void open_gap(uint64_t time_ns) {
    newest_ns_ = std::max(newest_ns_, time_ns);
    add_to(gap_, 0, newest_ns_);
  }
  // Whether the next batch needs a checkpoint: behind a gap, and after many events, so that a file
  // can be read from its middle. `live`: how many blocks live now. A gap in which allocations were
  // lost before waits for a checkpoint for a second, as there may be one in each millisecond.
  bool wants_checkpoint(size_t live, uint64_t now_ns, bool is_last) const;
  // What has come since the call before. `checkpoint`: the blocks that live now, if that is wanted.
  EventBatch take(uint64_t now_ns, std::optional<Checkpoint> checkpoint);

 private:
  using Gap = std::optional<EventGap>;
  static void add_to(Gap& gap, uint64_t count, uint64_t time_ns);

  uint64_t start_ns_;
  size_t most_;
  uint64_t numbers_ = 0;
  uint64_t newest_ns_ = 0;
  std::vector<Event> events_;
  Gap gap_;                        // events did not fit
  Gap lost_;                       // lost before
  uint64_t since_checkpoint_ = 0;  // events
  uint32_t told_ = 1;              // the first thread that nobody was told of
  std::vector<Thread> new_threads_;
};

}  // namespace memflame
