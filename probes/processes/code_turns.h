// SPDX-License-Identifier: BSD-2-Clause
// Which code was first at an address, and which took its place: libraries that are loaded one after
// the other lie at the same addresses, so addresses alone do not tell a stack.
//
// The first code at an address has turn 0, so that nothing changes for stacks of programs that
// unload nothing. Any other code has a turn that is its own: made of its file and where the file
// lies. A library that comes back has the turn that it had before, so stacks do not become more
// with each time that it is loaded. Code without a file has one turn: programs make and drop it all
// the time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/recording.h"

namespace memflame {

// Code whose turn is not 0.
struct LaterCode {
  uint64_t start = 0, end = 0;
  uint64_t turn = 0;
  ModuleId module;
};

// The turn at an address; `later` is sorted by address.
uint64_t turn_at(std::span<const LaterCode> later, uint64_t address);

class CodeTurns {
 public:
  // Notes code, in the order in which it came. `before`: what an inherited address space had.
  void note(const Mapping& mapping, bool is_file, std::span<const CodeTurns* const> before);
  // Whether code has ever taken the place of other code.
  bool any() const { return any_; }
  void forget() { *this = {}; }

 private:
  friend uint64_t turn_of(const Mapping& mapping, bool is_file,
                          std::span<const CodeTurns* const> oldest_first);
  struct Place {
    uint64_t start = 0, end = 0;
    uint64_t code = 0;
  };
  const Place* first(const Mapping& mapping) const;

  std::vector<Place> places_;
  bool any_ = false;
};

// The turn of code, by what the space's ancestors and then the space itself had.
uint64_t turn_of(const Mapping& mapping, bool is_file,
                 std::span<const CodeTurns* const> oldest_first);

}  // namespace memflame
