// SPDX-License-Identifier: BSD-2-Clause
// Takes what agents wrote into their rings: merges all rings by time, and hands stacks to the tree
// and blocks to the live table.
//
// The order: a round notes the time first and then reads how far each ring has come, and takes only
// what is older. A free is published before the block really goes, an allocation before anybody has
// the block, so whatever an older record depends on is older too, and was published before the
// round began. `slack_us` is for processors that read the TSC somewhat early.
//
// Everything in a ring may have been written by a hostile process: each word is read once, each
// length checked. A record that does not fit ends the ring: what comes after it is thrown away, and
// counted as one damaged ring.
//
// The idea for speed: a batch of records is first only decoded, and what it will need is fetched
// into the cache; then stacks are looked up, then blocks. Cost: see scripts/bench-inside.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "probes/inside/block_events.h"
#include "probes/inside/exchange/exchange.h"
#include "probes/inside/live_blocks.h"
#include "probes/inside/stack_tree.h"
#include "probes/inside/ticks.h"
#include "probes/languages/scripts/scripts.h"
#include "probes/processes/spaces.h"

namespace memflame::inside {

class RingReader {
 public:
  static constexpr uint64_t slack_us = 2;

  // All must outlive this.
  RingReader(Exchange& exchange, StackTree& stacks, LiveBlocks& blocks, const Ticks& ticks);
  ~RingReader();
  RingReader(const RingReader&) = delete;
  RingReader& operator=(const RingReader&) = delete;

  using Functions = std::array<uint64_t, function_count>;
  // From now on it also tells of each block; before any ring is read.
  void tell(BlockEvents& events) { events_ = &events; }
  // Functions of Python in stacks are those that rings tell there.
  void name_functions(Scripts& scripts) { scripts_ = &scripts; }
  // From now on rings have no memory for what was read. That costs 30 to 50 ns a record, more than
  // half of it the writer.
  void save_memory() { saves_memory_ = true; }
  // The rings of this process belong to a space from now on.
  // `began`: by the TSC, before its first record.
  void open(uint32_t process, SpaceId space, const Functions& functions, pid_t pid = 0,
            uint64_t began = 0);
  // Where code of this process lies now that took the place of other code: for what is decoded from
  // now on.
  void follow_code(uint32_t process, std::vector<LaterCode> later) {
    owners_[process].later = std::move(later);
  }
  // It writes nothing more: takes the rest of its rings, and sets them free. Returns rings_of().
  uint32_t close(uint32_t process);
  // How often a thread of the process took a ring.
  uint32_t rings_of(uint32_t process) const { return owners_[process].rings; }

  // One round. Returns the number of records.
  size_t read() { return round(now_ticks() - ticks_.of_us(slack_us), monotonic_ns()); }
  // The same; new stacks are named by the mappings of that time (CLOCK_MONOTONIC).
  size_t read_as_of(uint64_t ns) { return round(now_ticks() - ticks_.of_us(slack_us), ns); }
  // When nobody writes any more.
  size_t read_rest() { return round(UINT64_MAX, monotonic_ns()); }

  struct Statistics {
    uint64_t records = 0;
    uint64_t stacks = 0, frames = 0;
    uint64_t free_stacks = 0;  // of `stacks`
    std::array<uint64_t, bpf::stop_count> stops{};
    uint64_t gaps = 0;     // records lost, as rings say
    uint64_t damaged = 0;  // rings
  };
  const Statistics& statistics() const { return statistics_; }

 private:
  struct Ring;
  struct Event;
  struct Owner {
    SpaceId space;
    Functions functions{};
    pid_t pid = 0;
    uint64_t began = 0;
    uint32_t rings = 0;
    std::vector<LaterCode> later;
  };

  size_t round(uint64_t horizon, uint64_t ns);
  size_t merge(uint64_t horizon);
  void find_rings();
  void find_ring(uint32_t index);
  void look_at(Ring& ring);
  bool peek(Ring& ring);
  void decode(Ring& ring);
  void decode_code(Ring& ring, uint64_t address, const Code& code, const uint64_t* words);
  uint64_t place_of(const Ring& ring, uint64_t word);
  uint64_t hashed(const Ring& ring, uint64_t word) const;
  void decode_stack(Ring& ring, Event& event, const Alloc& alloc, const uint64_t* words);
  uint64_t possible_time(const Ring& ring) const;
  bool is_possible_gap(const Ring& ring, uint64_t records) const;
  void damage(Ring& ring);
  void set_free(Ring& ring);
  void publish_tail(Ring& ring, uint64_t read);
  void give_room(Ring& ring);
  void finish_batch();
  void intern(Event& event);
  static LiveEntry block_of(const Event& event);
  void apply(const Event& event);
  void tell(const Event& event);

  Exchange& exchange_;
  StackTree& stacks_;
  LiveBlocks& blocks_;
  const Ticks& ticks_;
  BlockEvents* events_ = nullptr;  // if somebody wants them
  Scripts* scripts_ = nullptr;     // null: functions have no names
  std::unique_ptr<bpf::script_code_record> function_;
  std::vector<Pc> places_;                    // of one function
  std::vector<Owner> owners_;                 // by process
  std::vector<std::unique_ptr<Ring>> rings_;  // by index; null until it was owned
  std::vector<uint64_t> known_;               // by index, a bit each: in `active_`
  std::vector<Ring*> active_, ready_;
  std::vector<Event> batch_;
  std::vector<uint64_t> batch_words_;  // frames of the batch, outermost first
  uint64_t round_ns_ = 0;
  uint64_t latest_ticks_ = 0;  // no record is younger
  uint32_t known_rings_ = 0;   // Control::rings, which only grows
  Statistics statistics_;
  bool saves_memory_ = false;
};

}  // namespace memflame::inside
