// SPDX-License-Identifier: BSD-2-Clause
// What UMDH says of two logs, stack by stack.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collapse/inputs/heap/umdh_lines.h"
#include "core/profile.h"

namespace memflame {

// Whether the change is the difference of its two numbers, in one of the notations. Throws Error if
// a difference does not fit in 64 bits.
bool fits(const UmdhChange& change);

class UmdhComparison {
 public:
  // The bytes of the next stack, then its blocks, if the comparison has them, and its frames.
  void add(const UmdhChange& bytes);
  void add_blocks(const UmdhChange& blocks) { changes_.back().blocks = blocks; }
  void set_stack(StackId stack) { changes_.back().stack = stack; }
  void set_total(const UmdhTotal& total) { stated_ = total; }
  bool empty() const { return changes_.empty(); }

  // Adds the figures and their columns to a profile that has no figures yet. Throws Error if a sum
  // does not fit in 64 bits.
  void finish(Profile& profile) const;

 private:
  struct Change {
    StackId stack;
    UmdhChange bytes;
    std::optional<UmdhChange> blocks;
  };
  enum class Notation : uint8_t { hex, decimal, unknown };
  Notation notation() const;
  bool only_decimal_digits() const;
  uint64_t contradictions(bool decimal) const;
  int64_t sum(bool decimal) const;
  void describe(Profile& profile, bool decimal) const;

  std::vector<Change> changes_;
  std::optional<UmdhTotal> stated_;
};

}  // namespace memflame
