// SPDX-License-Identifier: BSD-2-Clause
// Sorted names of code addresses. Symbols may overlap, and a hostile file may have any number of
// them: flatten() makes disjoint ranges of them once, in O(n log n), and a look-up is a binary
// search.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "collapse/symbolize/flatten.h"

namespace memflame {

struct SymbolEntry {
  uint64_t start = 0;
  uint64_t size = 0;      // 0: unknown, reaches to the next symbol but not beyond `limit`
  uint64_t limit = 0;     // end of the section or segment
  std::string_view name;  // kept by the caller
  bool function = true;   // false: a bare label (STT_NOTYPE)
  bool local = false;
};

// True if `a` is the better name for an address where both start: functions before labels, fewer
// leading underscores (malloc, not __libc_malloc), visible names before local ones, then the
// shorter and then the smaller name, so that the choice never depends on the order of a table.
// Underscores count for more than visibility because static linking makes malloc local and leaves
// __malloc.
bool better_name(const SymbolEntry& a, const SymbolEntry& b);

class SymbolTable {
 public:
  SymbolTable() = default;
  explicit SymbolTable(std::vector<SymbolEntry> entries);

  // The innermost symbol whose bytes, or the padding behind them, hold `address`.
  const SymbolEntry* find(uint64_t address) const;
  size_t size() const { return entries_.size(); }

 private:
  std::vector<SymbolEntry> entries_;
  std::vector<Span> rows_;
};

}  // namespace memflame
