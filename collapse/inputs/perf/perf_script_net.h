// SPDX-License-Identifier: BSD-2-Clause
// Allocated minus freed, by the addresses in the events.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "collapse/inputs/perf/perf_script_lines.h"
#include "core/hash.h"

namespace memflame {

// The effect of an event on a block of memory.
struct PerfBlockEvent {
  bool is_free = false;
  bool is_pages = false;  // the address is a page frame's number
  uint64_t address = 0;
  uint64_t space = 0;  // addresses in different spaces are different blocks
};
// Nothing if the event has no address; address 0 if the allocation failed.
std::optional<PerfBlockEvent> perf_block_event(const PerfHeader& header);

class PerfNet {
 public:
  // A block of `weight` is alive, and belongs to a row. If an earlier block at this address was
  // never seen freed, `give` takes its weight from its row.
  template <class Give>
  void allocate(const PerfBlockEvent& event, uint32_t row, int64_t weight, const Give& give) {
    any_ = true;
    Block& block = blocks_[key(event)];
    if (block.row != 0) {
      give(block.row, block.weight);
      ++replaced_;
    }
    block = {row, weight};
  }

  // Takes a freed block from the row it was added to; false if no such block is alive. `weight` 0 =
  // all of it.
  template <class Give>
  bool free(const PerfBlockEvent& event, int64_t weight, const Give& give) {
    any_ = true;
    const auto known = blocks_.find(key(event));
    if (known == blocks_.end()) return false;
    const Block block = known->second;
    blocks_.erase(known);
    // Pages that were allocated together may be freed one by one. The rest stays alive, split into
    // halves like the kernel's buddy allocator does.
    if (!event.is_pages || weight <= 0 || weight >= block.weight) weight = block.weight;
    give(block.row, weight);
    int64_t half = weight, rest = block.weight - weight;
    while (rest != 0) {
      const int64_t part = std::min(half, rest);
      PerfBlockEvent other = event;
      other.address += static_cast<uint64_t>(half);
      blocks_[key(other)] = {block.row, part};
      rest -= part;
      if (rest != 0) half *= 2;
    }
    return true;
  }

  bool any() const { return any_; }  // a block was allocated or freed
  uint64_t replaced() const { return replaced_; }

 private:
  struct Block {
    uint32_t row = 0;
    int64_t weight = 0;
  };
  struct Key {
    uint64_t address = 0, space = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const noexcept {
      return hash_bytes({reinterpret_cast<const char*>(&key), sizeof key});
    }
  };
  static Key key(const PerfBlockEvent& event) { return {event.address, event.space}; }

  std::unordered_map<Key, Block, Hash> blocks_;
  uint64_t replaced_ = 0;
  bool any_ = false;
};

}  // namespace memflame
