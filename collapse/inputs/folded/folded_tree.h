// SPDX-License-Identifier: BSD-2-Clause
// Puts the stacks of folded lines into the tree of a profile: one block after the other, in the
// order of the text.
//
// While stacks come in the order of their names, as memflame and other tools write them, the frames
// that a stack does not share with the one before it are new, and nothing is looked up. In any
// other order each stack follows the tree from its root. That is done for many of them at a time,
// so that all wait for memory together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collapse/inputs/folded/folded_lines.h"
#include "collapse/inputs/folded/folded_stacks.h"
#include "core/hash_cache.h"
#include "core/profile.h"

namespace memflame {

class FoldedTree {
 public:
  // `shared`: other threads look into known() while take() runs.
  FoldedTree(const FoldedLayout& layout, bool shared);

  // The frames of names that are known, by their hashes.
  const HashCache& known() const { return known_; }

  // Adds the stacks of a block; returns the line where that failed, and why.
  std::optional<FoldedBlock::Line> take(FoldedStacks& block);

  Profile profile;
  // Ends the reading, and frees what it needed.
  Profile take_profile();

 private:
  // A stack on its way along the tree.
  struct Walk {
    const FrameId* next = nullptr;  // the frames that are still to be looked for
    const FrameId* end = nullptr;
    StackId at{};         // of the frames before
    uint32_t likely = 0;  // the stack up to the next frame, if it is another callee than the first
  };
  size_t shared_names(std::span<const FrameId> frames) const;
  StackId add_new(size_t kept, std::span<const FrameId> frames);
  void lay_out(const FoldedStacks& block);
  void search(std::span<Walk> walks);
  bool advance(Walk& walk) const;
  StackId add_missing(Walk walk);
  void add_values(StackId stack, std::span<const Decimal> numbers);
  FrameId find_frame(const FoldedStacks::Name& name);
  FrameId make_frame(const FoldedStacks::Name& name, FrameKind plain_kind);

  const FoldedLayout& layout_;
  HashCache known_;
  std::vector<int64_t> values_;

  bool in_order_ = true;
  std::string last_;           // in order only: the text of the last stack
  std::vector<StackId> path_;  // and its frames, from the root on

  // In no order only: the stacks of the block.
  std::vector<FrameId> frames_;  // from the root on
  std::vector<Walk> walks_;
  std::vector<Walk*> walking_;
};

}  // namespace memflame
