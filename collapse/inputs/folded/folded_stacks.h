// SPDX-License-Identifier: BSD-2-Clause
// The stacks of a block of folded lines, as FoldedLines reads them and FoldedTree takes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "collapse/inputs/folded/folded_numbers.h"
#include "core/hash.h"
#include "core/ids.h"

namespace memflame {

struct FoldedStacks {
  struct Stack {
    size_t line = 0;  // its number in the block
    size_t kept = 0;  // names shared with the stack before; none for the first one
    size_t end = 0;   // where its other names end
  };
  struct Name {
    std::string_view text;
    Hash128 hash{};
    bool is_root = false;
  };
  struct Unknown {
    size_t place = 0;  // in `frames`
    Name name;
  };
  // A stack on its way along the tree.
  struct Walk {
    const FrameId* next = nullptr;  // the frames that are still to be looked for
    const FrameId* end = nullptr;
    StackId at{};         // of the frames before
    uint32_t likely = 0;  // the stack up to the next frame, if it is another callee than the first
  };

  std::vector<Stack> stacks;
  std::vector<FrameId> frames;   // the names that are not shared, one stack after the other
  std::vector<Unknown> unknown;  // those that have no frame yet
  std::vector<Decimal> numbers;  // a row for each stack
  std::string_view first, last;  // the texts of the first and the last stack
  bool in_order = true;          // the stacks come in the order of their names

  // Where they come in no order: each stack from the root on, and its way. See lay_out().
  std::vector<FrameId> paths;
  std::vector<Walk> walks;

  // Fills in paths and walks. All frames must be known.
  void lay_out();

  // Keeps the memory.
  void clear() {
    stacks.clear();
    frames.clear();
    unknown.clear();
    numbers.clear();
    paths.clear();
    walks.clear();
    first = last = {};
    in_order = true;
  }
};

}  // namespace memflame
