// SPDX-License-Identifier: BSD-2-Clause
// Events, gaps and checkpoints as bytes, and back.
//
// A chunk of events is a sequence of columns: kinds, times, threads, stacks and so on. Many numbers
// are told against what earlier events of the same chunk lead to expect, so most are 0. No chunk
// needs an earlier one: reading may begin anywhere. docs/recording.md describes the columns.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "collapse/chunks/bytes.h"
#include "collapse/chunks/chunks.h"
#include "collapse/events/address_guess.h"
#include "collapse/events/slot_table.h"
#include "core/events.h"

namespace memflame {

// Also the most blocks in a chunk of a checkpoint.
inline constexpr size_t events_of_a_chunk = 65'536;

// What the events of a recording are like.
struct EventOptions {
  bool nanoseconds = false;  // times are kept in ns, not in µs
  bool addresses = true;     // false: addresses are left out
  uint64_t cull_ns = 0;      // chains that live shorter are left out, see event_culler.h
};

// What encoder and decoder keep while they go through one chunk.
class EventColumns {
 protected:
  void clear();
  // The places of events with these threads, thread by thread in the order of their numbers; those
  // of a thread keep their order. What a thread does repeats itself more than what all do.
  std::span<const uint32_t> by_thread(std::span<const Event> events);

  // That the blocks of a stack had last.
  SlotTable<uint64_t, slots_of_stacks> sizes_, weights_;
  AddressGuess addresses_;

 private:
  std::vector<uint32_t> order_;
};

class EventEncoder : public EventColumns {
 public:
  explicit EventEncoder(EventOptions options = {}) : options_(options) {}

  // At most events_of_a_chunk. Throws Error if they are not in the order of time. Times are rounded
  // down.
  std::string events(std::span<const Event> events);
  // The chunks of a checkpoint: its head, then its blocks, told as their allocations.
  std::vector<Chunk> checkpoint(uint64_t time_ns, std::span<const LiveBlock> blocks);
  std::string gap(const EventGap& gap) const;

 private:
  unsigned flags() const;
  uint64_t unit_ns() const;
  uint64_t rounded(uint64_t time_ns) const;

  EventOptions options_;
};

// Ids that exist.
struct EventLimits {
  size_t threads = 0, stacks = 0, spaces = 0;
};

struct CheckpointHead {
  uint64_t time_ns = 0;
  uint64_t blocks = 0;
  uint64_t chunks = 0;  // with the blocks, right behind the head
};

// All throw DamagedChunk. The results are valid until the next call.
class EventDecoder : public EventColumns {
 public:
  std::span<const Event> events(ByteReader& in, const EventLimits& limits);
  std::span<const LiveBlock> blocks(ByteReader& in, const EventLimits& limits);

 private:
  std::vector<Event> events_;
  std::vector<LiveBlock> blocks_;
};

CheckpointHead decode_checkpoint(ByteReader& in);
// Appends the gaps of a chunk.
void decode_gaps(ByteReader& in, MemoryBudget& budget, std::vector<EventGap>& into);

}  // namespace memflame
