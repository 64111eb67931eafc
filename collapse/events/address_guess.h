// SPDX-License-Identifier: BSD-2-Clause
// Where the next block will be. Allocators hand out again what was freed last, or go on behind the
// block before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collapse/events/slot_table.h"
#include "core/events.h"

namespace memflame {

inline constexpr size_t slots_of_stacks = 16'384;

class AddressGuess {
 public:
  // How an address is told. Numbers below `next` are places in the list of freed addresses whose
  // blocks had about this size, the last one first.
  enum Way : uint8_t {
    next = 8,         // behind the block before
    in_place,         // where the block was that moved
    step,             // a difference to the last address of its stack
    step_of_sixteen,  // the same, in units of 16 bytes
    ways,
  };
  struct Told {
    uint8_t way = next;
    int64_t step = 0;
    bool has_step() const { return way == Way::step || way == step_of_sixteen; }
  };

  void clear();
  // A block that is freed, but not one that moves.
  void freed(BlockNumber block);
  // For each allocation and move; all but the address is known.
  Told tell(const Event& event);
  // Sets the address. False if that way does not lead to one.
  bool understand(Event& event, Told told);

 private:
  struct Seen {
    BlockNumber block = BlockNumber::none;
    uint64_t address = 0, size = 0;
  };
  struct Free {
    uint64_t address = 0;
    uint32_t older = 0;
  };
  const Seen* seen(BlockNumber block);
  uint32_t& newest(uint64_t size) { return newest_[(size + 23) / 16]; }
  Told tell_new(const Event& event);
  bool understand_new(Event& event, Told told);
  void allocated(const Event& event);

  SlotTable<Seen, 65'536> seen_;
  SlotTable<uint32_t, 4096> newest_;  // places in freed_, 0 = none
  SlotTable<uint64_t, slots_of_stacks> last_;
  std::vector<Free> freed_{Free{}};  // [0] is none
  uint64_t behind_ = 0;              // the block before
};

}  // namespace memflame
