// SPDX-License-Identifier: BSD-2-Clause
// Reads the lines of folded text, block by block.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collapse/blocks.h"
#include "collapse/inputs/folded/folded_numbers.h"
#include "collapse/issues.h"
#include "core/hash_cache.h"
#include "core/profile.h"

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

// Reads blocks into a profile: one object per thread. A line that begins like the one before (in
// sorted text most do) is only read from where they differ.
class FoldedLines {
 public:
  explicit FoldedLines(const FoldedLayout& layout);

  FoldedBlock take(const InputBlock& block);

  Profile& profile() { return profile_; }
  uint64_t rounded() const { return rounded_; }  // numbers with too many decimals
  // Stacks that were truncated, and the frames that they lost.
  uint64_t truncated() const { return truncated_; }
  uint64_t truncated_frames() const { return truncated_frames_; }

 private:
  // A line that is read but not yet in the profile.
  struct Pending {
    size_t number = 0;  // of the line
    size_t kept = 0;    // frames shared with the line before
    size_t names = 0;   // where its other frames end, in names_
  };
  struct Name {
    std::string_view text;  // no data: frames behind the limit
    Hash128 hash;
    FrameId frame{};
    uint64_t stack_hash = 0;
  };
  void take_line(std::string_view line, size_t common, FoldedBlock& result);
  void keep_values();
  void split(std::string_view stack, size_t common, size_t number);
  void truncate(std::string_view stack, size_t begin);
  void flush();
  FrameId find_frame(const Name& name, bool is_root);
  FrameId make_frame(std::string_view name, FrameKind plain_kind);

  const FoldedLayout& layout_;
  Profile profile_;
  std::string_view previous_;  // the stack of the line before, in the same block
  std::vector<size_t> ends_;   // where its names end
  // Lines go into the profile in batches: the tables' memory for one is fetched while others are
  // read.
  std::vector<Pending> pending_;
  std::vector<Name> names_;
  std::vector<int64_t> values_;        // one row per line
  std::vector<StackId> path_;          // the last line added: the stack of each of its frames
  std::vector<uint64_t> path_hashes_;  // and their hashes
  HashCache known_;                    // frames, by a hash that stands for their name
  std::vector<Decimal> numbers_;
  uint64_t rounded_ = 0, truncated_ = 0, truncated_frames_ = 0;
};

}  // namespace memflame
