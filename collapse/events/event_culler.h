// SPDX-License-Identifier: BSD-2-Clause
// Leaves out blocks that live shorter than a given time, and keeps their sums.
//
// Chains are left out as a whole or not at all, so those that remain are whole: a chain is culled
// if its last block was freed sooner than that time after its first allocation. Events are held
// until it is decided what their chains become, at most for that time; their order stays. Blocks
// that live at a checkpoint or a gap remain, and so do those that more events than can be held
// follow: few short-lived blocks may thus be left.
//
// Memory: 250 bytes for each event that is held. Cost: some 100 ns an event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "collapse/events/culled.h"
#include "core/events.h"

namespace memflame {

class EventCuller {
 public:
  static constexpr size_t usual_most = size_t{1} << 20U;
  // `most`: events that are held.
  explicit EventCuller(uint64_t below_ns, size_t most = usual_most)
      : below_ns_(below_ns), most_(most) {}

  // In the order of time.
  void add(std::span<const Event> events);
  // The events of which it is decided; with `all` the others too, as what they are now.
  std::vector<Event> take(bool all = false);
  // What was culled since the call before; without stacks if nothing was.
  CulledBlocks take_culled();

 private:
  struct Chain {
    uint64_t begun_ns = 0, freed_ns = never_freed;
    BlockNumber block = BlockNumber::none;  // its last one
    Event last{};                           // the allocation of that
    uint32_t held = 0;                      // events
    bool is_decided = false, is_culled = false;
  };
  struct Held {
    Event event;
    uint32_t chain = 0;  // 0: it remains
  };

  void add(const Event& event);
  uint32_t chain_of(BlockNumber block) const;
  uint32_t begin(const Event& event);
  void hold(const Event& event, uint32_t chain);
  // A free of a block that was culled is taken back.
  void revive(const Event& event);
  void decide(Chain& chain, uint32_t place);
  void cull(const Event& event, const Chain& chain);
  void forget_event(uint32_t chain);

  uint64_t below_ns_;
  size_t most_;
  uint64_t newest_ns_ = 0;
  std::deque<Held> held_;
  std::vector<Chain> chains_{Chain{}};
  std::vector<uint32_t> free_places_;                    // in chains_
  std::unordered_map<BlockNumber, uint32_t> undecided_;  // last blocks of chains
  std::unordered_map<uint32_t, Event> culled_last_;      // by thread: the block's allocation
  std::map<uint32_t, CulledStack> culled_;               // by stack
};

}  // namespace memflame
