// SPDX-License-Identifier: BSD-2-Clause
// The blocks of one process, from a tool that tells allocations and frees by address, as the events
// and looks of a recording.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "collapse/history/writer.h"
#include "collapse/verdicts/stretches.h"
#include "core/hash.h"
#include "core/history.h"

namespace memflame {

class HeaptrackHistory {
 public:
  static constexpr SpaceId process{1};
  // Calls whose thread is not known: it is known which call came next, but not whose it was.
  static constexpr ThreadId all_threads{1};

  HeaptrackHistory();

  // Stacks, modules and the process are added to it; what was added stays.
  Recording& recording() { return history_.recording; }

  // The file must be given before the first of the others, when recording().meta is known.
  void write_to(std::unique_ptr<HistoryFile> file);
  bool has_file() const { return writer_.has_value(); }

  // A stack's place among the tracks, for allocate(); a stack has one.
  uint32_t add_track(RawStackId stack);
  // A thread of the process, by the number that the system gave it.
  ThreadId add_thread(uint32_t tid);

  // Where a block is, and whose call it was.
  struct Call {
    uint64_t address = 0;
    ThreadId thread = all_threads;
  };
  // A block is told from others by a key, which is its address if nothing else is known of it.
  // Throws Error if a sum leaves the range of 64 bits.
  void allocate(uint64_t address, uint64_t size, uint32_t track) {
    allocate(address, size, track, {.address = address});
  }
  void allocate(uint64_t key, uint64_t size, uint32_t track, const Call& call);
  // A realloc: the block goes on, under another key or the same. One that is not known is
  // allocated.
  void move(uint64_t old_key, uint64_t key, uint64_t size, uint32_t track, const Call& call);
  void free(uint64_t key, ThreadId thread = all_threads);
  // It is that time now; earlier than before is not.
  void time(uint64_t time_ns);
  void resident(int64_t bytes) { resident_ = bytes; }
  // Ends the file.
  void finish();

  uint64_t allocations() const { return allocations_; }
  // Frees of keys of which no block was known; allocations where one was, which ends it.
  uint64_t unknown_frees() const { return unknown_frees_; }
  uint64_t reused() const { return reused_; }

 private:
  enum Column : uint8_t { live, live_count, total, total_count, columns };
  using Sums = std::array<int64_t, columns>;
  struct LiveOne {
    BlockNumber number = BlockNumber::none;
    uint64_t allocated_ns = 0, address = 0, size = 0;
    uint32_t track = 0;
    ThreadId thread{};
  };
  using Live = std::unordered_map<uint64_t, LiveOne, NumberHash>;

  void end_block(Live::iterator block);
  void begin_block(LiveOne& block, BlockNumber moved, uint64_t size, uint32_t track,
                   const Call& call);
  void add(const Event& event);
  void change(uint32_t track, int64_t bytes, bool is_new);
  void write_events();
  void write_checkpoint();
  void look();
  void survey(Look& look);

  History history_;
  std::optional<HistoryWriter> writer_;
  std::vector<Event> events_;  // not written yet
  Live live_;
  std::vector<Sums> sums_{Sums{}};    // by track
  std::vector<bool> changed_{false};  // since the look before
  std::vector<uint32_t> changes_;     // the same as a list
  Stretches stretches_;
  uint64_t survey_ns_ = 0;  // the last one
  uint64_t now_ns_ = 0, next_look_ns_ = 0;
  uint64_t since_survey_ = 0, since_checkpoint_ = 0;  // events
  int64_t resident_ = no_reading;
  uint64_t allocations_ = 0, unknown_frees_ = 0, reused_ = 0;
};

}  // namespace memflame
