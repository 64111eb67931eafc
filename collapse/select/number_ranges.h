// SPDX-License-Identifier: BSD-2-Clause
// The numbers that a comparison accepts.
#pragma once

#include <cstdint>

#include "collapse/select/block_source.h"
#include "collapse/select/query.h"

namespace memflame {

// first..last; nothing if last < first.
struct NumberRange {
  uint64_t first = 0, last = UINT64_MAX;
  bool has(uint64_t number) const { return number >= first && number <= last; }
};

// Whether part / whole is less than, equal to or more than a decimal fraction: -1, 0, 1. Exact.
int compare_share(uint64_t part, uint64_t whole, const ExactFraction& share);

// Turns values into numbers, for one run.
class NumberRanges {
 public:
  NumberRanges(const RunFacts& facts, uint64_t peak_ns) : facts_(facts), peak_ns_(peak_ns) {}

  // What a comparison of numbers or times accepts; of `unequal`, what it does not accept. Only
  // never_freed is later than all times. Throws Error (usage) if a range is empty, or a marker is
  // not known.
  NumberRange of(const Expression& expression, const Clause& node) const;

  // `live at` and `live in`: when a block must have been allocated, and when freed.
  struct Live {
    NumberRange allocated, freed;
  };
  Live live(const Expression& expression, const Clause& node) const;

  // Whether the share of a group is as the node says; of `unequal`, whether it is not.
  static bool accepts_share(const Clause& node, uint64_t part, uint64_t whole);
  static void require_shares(const Expression& expression, const Clause& node);

 private:
  // Nanoseconds since the start; before it they are negative.
  __extension__ using Wide = __int128;
  static NumberRange interval_of(Comparison comparison, Wide value, Wide until);
  Wide time(const Expression& expression, const Operand& value) const;
  uint64_t time(const Expression& expression, const TimeTerm& term) const;

  const RunFacts& facts_;
  uint64_t peak_ns_;
};

}  // namespace memflame
