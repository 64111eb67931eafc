// SPDX-License-Identifier: BSD-2-Clause
// Values by number, where many numbers may share a value: memory and time do not depend on how many
// numbers there are, and hostile ones cannot make it slow. clear() takes no time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace memflame {

template <class T, size_t slots>
class SlotTable {
 public:
  SlotTable() : slots_(slots) {}

  // Empty at first, and after clear(). Valid until then.
  T& operator[](uint64_t number) {
    Slot& slot = slots_[number % slots];
    if (slot.round != round_) slot = {.round = round_, .value = T{}};
    return slot.value;
  }
  void clear() {
    if (++round_ != 0) return;
    slots_.assign(slots, Slot{});
    round_ = 1;
  }

 private:
  struct Slot {
    uint32_t round = 0;
    T value{};
  };
  std::vector<Slot> slots_;
  uint32_t round_ = 1;
};

}  // namespace memflame
