// SPDX-License-Identifier: BSD-2-Clause
// Reads the lines of folded text, block by block.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collapse/inputs/folded/folded_numbers.h"
#include "collapse/inputs/folded/folded_stacks.h"
#include "collapse/text/blocks.h"
#include "collapse/text/issues.h"
#include "core/hash_cache.h"
#include "core/profile.h"
#include "core/scan_fields.h"

namespace memflame {

// Known before the first stack is read.
struct FoldedLayout {
  std::vector<ValueType> types;
  size_t shown = 0;
  bool columns_are_sure = false;  // stated by a header or the user, not guessed from the beginning
  size_t max_frames = SIZE_MAX;   // of a stack; those behind become one
  bool roots_are_processes = false;  // frames without a caller are names of programs
};

// The content of a block apart from its stacks. Lines are counted from 1 within it.
struct FoldedBlock {
  struct Line {
    size_t number = 0;
    std::string text;
  };
  size_t lines = 0;
  size_t stacks = 0, dropped = 0;  // lines with a stack, and lines that were not understood
  Issues issues;
  std::vector<Line> comments;   // memflame's own
  std::optional<Line> error{};  // where and why reading stopped
};

// Reads blocks: one object per thread. A line that begins like the one before (in sorted text most
// do) is only read from where they differ.
class FoldedLines {
 public:
  // `known`: the frames of names, by their hashes.
  FoldedLines(const FoldedLayout& layout, const HashCache& known);

  FoldedBlock take(const InputBlock& block);
  // The stacks of this block, up to where it has an error. Names are views of the block's text.
  FoldedStacks& stacks() { return stacks_; }

  uint64_t rounded() const { return rounded_; }  // numbers with too many decimals
  // Stacks that were truncated, and the frames that they lost.
  uint64_t truncated() const { return truncated_; }
  uint64_t truncated_frames() const { return truncated_frames_; }

 private:
  void take_line(std::string_view line, size_t common, size_t scanned, FoldedBlock& result);
  void keep_names(std::string_view stack, size_t common, size_t scanned);
  void split(std::string_view stack, size_t scanned);
  size_t next_end(std::string_view stack, size_t begin, size_t scanned, size_t& separator) const;
  void truncate(std::string_view stack, size_t begin);
  void add_name(std::string_view name);
  void find_frames();

  const FoldedLayout& layout_;
  const HashCache& known_;
  std::string truncated_name_;  // the name of the frame for those that are left out
  FoldedStacks stacks_;
  std::string_view previous_;  // the stack of the line before
  std::vector<size_t> ends_;   // where its names end
  FieldScanner fields_{';'};   // has scanned the line, from some place on
  // Names whose frames are to be found; the memory of known_ for them is being fetched.
  std::vector<FoldedStacks::Name> names_;
  std::vector<Decimal> numbers_;  // of the line
  uint64_t rounded_ = 0, truncated_ = 0, truncated_frames_ = 0;
};

}  // namespace memflame
