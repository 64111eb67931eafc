// SPDX-License-Identifier: BSD-2-Clause
// A query that is ready for the blocks of one run. Everything about stacks, threads and times is
// worked out beforehand, so a block costs a few comparisons.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "collapse/select/block_source.h"
#include "collapse/select/query.h"

namespace memflame {

// Jumps from test to test until it is known whether a block is selected. `not` needs no test of its
// own: it swaps the two places.
class Selection {
 public:
  enum class Field : uint8_t {
    allocated,
    freed,
    lifetime,
    size,
    first_size,
    last_size,
    address,
    chain_length,
    chain_position,
    chain_lifetime,
    chain_leaked,
    stack,          // in a set
    freeing_stack,  // in a set
    thread,         // in a set
  };
  // Whether a field is in a set; numbers: first <= field <= last, so nothing if last < first.
  struct Test {
    Field field = Field::size;
    uint32_t set = 0;
    uint64_t first = 0, last = 0;
    uint32_t yes = 0, no = 0;  // the next test, `selected` or `rejected`
  };
  static constexpr uint32_t selected = UINT32_MAX, rejected = UINT32_MAX - 1;

  // All blocks.
  Selection() = default;
  Selection(std::vector<Test> tests, uint32_t first, std::vector<std::vector<bool>> sets)
      : tests_(std::move(tests)), sets_(std::move(sets)), first_(first) {}

  bool operator()(const Block& block, const Chain& chain) const {
    uint32_t next = first_;
    while (next < rejected) {
      const Test& test = tests_[next];
      next = holds(test, block, chain) ? test.yes : test.no;
    }
    return next == selected;
  }

 private:
  bool holds(const Test& test, const Block& block, const Chain& chain) const;

  std::vector<Test> tests_;
  std::vector<std::vector<bool>> sets_;  // by the ids of stacks or threads
  uint32_t first_ = selected;
};

// What applying a query takes.
struct QueryNeeds {
  bool names = false;  // of functions, files, modules: symbolize() must have run
  bool addresses = false, free_stacks = false;
  bool peak = false, groups = false, group_peaks = false;
  bool stacks_of_selections = false;
};
QueryNeeds needs_of(const Query& query);

// Reads the run once for `peak` and properties of groups (more often if it has very many blocks),
// and once for each depth of `stack in`. Throws Error (usage) if the query asks for what the run
// does not have: an unknown marker, a range that is empty, a regular expression that is not one,
// addresses or stacks of frees that were not recorded. What is not in the run but might have been,
// such as a function, selects nothing.
Selection selection_of(const Query& query, BlockSource& source);

// What `peak` means in this run.
uint64_t peak_ns_of(BlockSource& source);

}  // namespace memflame
