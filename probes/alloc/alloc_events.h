// SPDX-License-Identifier: BSD-2-Clause
// The events of a run of alloc in the kernel, from the records of its programs
// (bpf/block_events.h).
//
// The live table in the kernel is right whatever happens to the ring. So a gap in the events ends
// with a checkpoint of that table (table_checkpoint.h), once nothing was lost for a moment; and
// after many events there is one without a gap, so that a file can be read from its middle.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "probes/alloc/bpf/config.h"
#include "probes/alloc/table_checkpoint.h"
#include "probes/run/event_feed.h"

namespace memflame {

class AllocEvents : public EventFeed {
 public:
  explicit AllocEvents(uint64_t start_ns) : log_(start_ns) {}

  // A record of its type; a plain one lacks the last fields.
  void begin(const bpf::begin_record& record, bool is_plain);
  void end(const bpf::end_record& record, bool is_plain);
  // Called about every 10 ms, when all records were handled that had come by the call before.
  void poll(const LoadedProbe& probe);
  // Programs change nothing any more.
  void disarmed() { is_over_ = true; }

  EventLog& log() override { return log_; }
  void end(SpaceId space, uint64_t time_ns) override;
  EventBatch take(const LoadedProbe& probe, const StackLog& stacks,
                  const std::function<void()>& drain) override;
  void forget(std::span<const uint32_t> stack_numbers) override;
  uint64_t stack_key(uint32_t number) const override { return stacks_[number]; }
  uint32_t stack_numbers() const override { return static_cast<uint32_t>(stacks_.size()); }

 private:
  bool has_ended(SpaceId space) const { return space.index < ended_.size() && ended_[space.index]; }
  ThreadId thread(uint32_t tid, SpaceId space);
  RawStackId stack(uint64_t key);
  void see_losses(const LoadedProbe& probe, uint64_t now_ns);
  void read(const LoadedProbe& probe, TableCheckpoint::Table table);
  Checkpoint checkpoint(const StackLog& stacks);
  SpaceId space_of(const StackLog& stacks, RawStackId stack) const;
  void place_threads(const StackLog& stacks);

  EventLog log_;
  bpf::event_state state_{};  // as it was seen last
  uint64_t seen_ns_ = 0;      // when that was, since counting began
  // CLOCK_MONOTONIC: of the last poll, and of the one before, whose events were all handled by now.
  uint64_t polled_ns_ = 0, handled_ns_ = 0;
  bool is_over_ = false;
  int64_t live_ = 0;  // blocks, about
  TableCheckpoint table_;
  uint64_t next_try_ns_ = 0;                              // to make a checkpoint
  std::unordered_map<uint64_t, uint32_t> stack_numbers_;  // by key
  std::vector<uint64_t> stacks_{0};                       // keys
  std::vector<uint32_t> forgotten_, free_;  // numbers that others may have later, or now
  struct Living {
    ThreadId id;
    SpaceId space;  // none while it is unplaced
  };
  std::unordered_map<uint32_t, Living> threads_;  // by tid
  // Threads of which only allocations are known so far, with the stack of one.
  struct Unplaced {
    ThreadId id;
    uint32_t tid = 0;
    RawStackId stack;
  };
  std::vector<Unplaced> unplaced_;
  std::vector<bool> ended_;  // by space
};

}  // namespace memflame
