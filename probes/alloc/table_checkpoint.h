// SPDX-License-Identifier: BSD-2-Clause
// A checkpoint of the kernel's live table, made while programs go on changing the table.
//
// A checkpoint has the blocks that live by all events before it. The table cannot be read in one
// moment, and a program changes it somewhat before the event about that is in the ring. So events
// are followed from before the table is read until a while after:
//
//   follow events, read the table | read `moving` | the checkpoint may be taken
//                                 ^ slack_ns      ^ slack_ns
//
// The times of that are those until which events were handled, which may be behind the clock.
//
// A block that lives by the events was in the table when its place was read; or it has begun since
// events are followed; or it was inside a realloc() all the time, and is in `moving`
// (bpf/blocks.h). A block that was read, but whose end has come by then, is left out; so is one
// that began meanwhile, if its event is still to come. A lost event, or a block that a realloc()
// has put back into the table, makes this wrong: the caller begins anew then.
//
// Pure: it is handed events and entries. Memory: 100 bytes for each block that was read or has
// begun, 40 for each that has ended.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/events.h"

namespace memflame {

class TableCheckpoint {
 public:
  // How long a program takes, at most, from a change of the table until the event is in the ring.
  // The kernel may make the program wait for a processor meanwhile.
  static constexpr uint64_t slack_ns = 50'000'000;

  bool is_begun() const { return stage_ != Stage::idle; }
  void begin(uint64_t now_ns);
  void stop();

  // What the caller is to read now: add() for each entry, then has_read(). `handled_ns`: all events
  // that were in the ring by then were handled.
  enum class Table : uint8_t { none, blocks, moving };
  Table to_read(uint64_t handled_ns) const;
  void add(const LiveBlock& block, SpaceId space);
  void has_read(uint64_t now_ns);
  // Whether it may be taken. If nobody changes the table any more, that is so after both were read.
  bool is_ready(uint64_t handled_ns) const {
    return stage_ == Stage::complete && handled_ns >= since_ns_ + slack_ns;
  }

  // Events, in their order. Times of blocks are CLOCK_MONOTONIC.
  void began(const LiveBlock& block);
  void ended(BlockNumber block);

  // The blocks that live by the events until now, without those of which `is_gone` is true. A block
  // that was not read has no space. Stops.
  using IsGone = std::function<bool(const LiveBlock& block, SpaceId space)>;
  std::vector<LiveBlock> take(const IsGone& is_gone);

 private:
  enum class Stage : uint8_t { idle, following, has_blocks, complete };
  struct Entry {
    LiveBlock block;
    SpaceId space;
  };

  Stage stage_ = Stage::idle;
  uint64_t begun_ns_ = 0;  // events are followed from then on
  uint64_t since_ns_ = 0;  // when the last table was read
  std::unordered_map<BlockNumber, Entry> read_;
  std::unordered_map<BlockNumber, LiveBlock> begun_;  // and not ended
  std::unordered_set<BlockNumber> ended_;
};

}  // namespace memflame
