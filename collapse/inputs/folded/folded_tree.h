// SPDX-License-Identifier: BSD-2-Clause
// Puts the stacks of folded lines into the tree of a profile: one block after the other, in the
// order of the text.
//
// While stacks come in the order of their names, as memflame and other tools write them, the frames
// that a stack does not share with the one before it are new, and nothing is looked up. In any
// other order each stack follows the tree from its root. That is done for many of them at a time,
// so that all wait for memory together.
#pragma once

#include <atomic>
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

  // Whether all stacks until now came in the order of their names. Otherwise it saves time if
  // blocks are laid out before take() has them. Any thread may ask.
  bool in_order() const { return in_order_; }

  // Adds the stacks of a block; returns the line where that failed, and why.
  std::optional<FoldedBlock::Line> take(FoldedStacks& block);

  Profile profile;
  // Ends the reading, and frees what it needed.
  Profile take_profile();

 private:
  size_t shared_names(std::span<const FrameId> frames) const;
  StackId add_new(size_t kept, std::span<const FrameId> frames);
  void search(std::span<FoldedStacks::Walk> walks);
  bool advance(FoldedStacks::Walk& walk) const;
  StackId add_missing(FoldedStacks::Walk walk);
  void add_values(StackId stack, std::span<const Decimal> numbers);
  FrameId find_frame(const FoldedStacks::Name& name);
  FrameId make_frame(const FoldedStacks::Name& name, FrameKind plain_kind);

  const FoldedLayout& layout_;
  HashCache known_;
  std::vector<int64_t> values_;

  std::atomic<bool> in_order_ = true;
  std::string last_;           // in order only: the text of the last stack
  std::vector<StackId> path_;  // and its frames, from the root on

  std::vector<FoldedStacks::Walk*> walking_;  // in no order only: those under way
};

}  // namespace memflame
