// SPDX-License-Identifier: BSD-2-Clause
// What processes left that have ended. A program that forks all day would fill every table with
// the stacks of its children, so only those that ended last are kept apart. A stack of an older one
// becomes that of an estate: a space without a pid, which stands for all processes of one name that
// had the same stack in the same code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "probes/processes/processes.h"
#include "probes/stacks/stack_log.h"

namespace memflame {

class Estates {
 public:
  // The number of ended processes that are kept apart.
  static constexpr size_t usually_apart = 1000;
  explicit Estates(size_t apart = usually_apart) : apart_(apart) {}

  // Spaces that have ended and are not kept apart any more, if they are worth the work.
  std::vector<SpaceId> due(Spaces& spaces);

  // Where the figures of their stacks and notes are to go, and the spaces of which nothing will be
  // asked then. Stacks in code that a process made itself stay with it. `new_space` gives numbers
  // of spaces that nobody has. The caller moves the figures, and then StackLog::move() the stacks.
  struct Taken {
    std::vector<StackMove> moves;
    std::vector<SpaceId> given_back;
  };
  Taken take_over(std::span<const SpaceId> ended, StackLog& log, Processes& processes,
                  const std::function<SpaceId()>& new_space);

 private:
  size_t apart_;
  std::deque<SpaceId> waiting_;                     // in the order in which they ended
  std::unordered_map<std::string, uint64_t> keys_;  // of the estates' stacks, by what they are
  std::unordered_map<std::string, SpaceId> notes_;  // the estates that have the notes, by name
};

}  // namespace memflame
