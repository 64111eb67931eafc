// SPDX-License-Identifier: BSD-2-Clause
// The state before an instruction: how far rsp is below the return address, and where the caller's
// rbp and rbx are.
#pragma once

#include <cstdint>
#include <optional>

#include "probes/unwind/row.h"
#include "probes/unwind/stack_effect.h"

namespace memflame::unwind {

struct StackState {
  // Slots count as those of rows do: n is at CFA - 8 * n.
  struct Saved {
    int32_t slot = 0;    // 0: it is not on the stack
    bool intact = true;  // the register itself still has the caller's value
    bool operator==(const Saved&) const = default;
  };
  std::optional<int32_t> words = 1;  // CFA = rsp + 8 * words
  std::optional<int32_t> framed;     // CFA = rbp + 8 * framed
  Saved rbp, rbx;
  uint8_t holder = no_register;  // the register with the return address, if it was popped (words =
                                 // 0)
  bool outermost = false;        // there is no caller
  bool operator==(const StackState&) const = default;

  void apply(const StackEffect& effect);
  // Merges the state of another path that leads here: what differs becomes unknown. Returns false
  // if that changed nothing. Each change makes less known, so repeated merging ends.
  bool meet(const StackState& other);
  // The row for this state, with pc 0.
  row rule() const;

 private:
  void move(const StackEffect& effect);
  void set_height(std::optional<int32_t> height);
};

}  // namespace memflame::unwind
