// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/folded/folded_tree.h"

#include <algorithm>

#include "collapse/inputs/folded/folded_names.h"
#include "collapse/inputs/folded/marked_names.h"
#include "core/error.h"

namespace memflame {
namespace {

int64_t power_of_ten(int exponent) {
  int64_t power = 1;
  for (; exponent > 0; --exponent) power *= 10;
  return power;
}

constexpr size_t most_known = size_t{1} << 20U;

}  // namespace

FoldedTree::FoldedTree(const FoldedLayout& layout, bool shared)
    : layout_(layout), known_(most_known, shared), values_(layout.types.size()) {
  profile.types = layout.types;
  profile.shown = layout.shown;
}

std::optional<FoldedBlock::Line> FoldedTree::take(FoldedStacks& block) {
  if (block.stacks.empty()) return std::nullopt;
  for (const FoldedStacks::Unknown& unknown : block.unknown)
    block.frames[unknown.place] = find_frame(unknown.name);
  const bool follows = path_.empty() || follows_in_order(last_, block.first);
  if (in_order_ && !(block.in_order && follows)) {
    in_order_ = false;
    path_ = {};
    profile.stacks.make_index();
  }
  if (in_order_)
    last_ = block.last;
  else if (block.walks.empty())
    block.lay_out();
  std::span<const Decimal> numbers = block.numbers;
  size_t begin = 0;  // of the stack's frames
  for (size_t i = 0; i < block.stacks.size(); ++i) {
    const FoldedStacks::Stack& stack = block.stacks[i];
    StackId id;
    if (in_order_) {
      const auto frames = std::span(block.frames).subspan(begin, stack.end - begin);
      // Nobody has compared the first one with the block before.
      const size_t kept = i == 0 ? shared_names(frames) : stack.kept;
      id = add_new(kept, frames.subspan(i == 0 ? kept : 0));
    } else {
      constexpr size_t batch = 32;
      if (i % batch == 0)
        search(std::span(block.walks).subspan(i, std::min(batch, block.walks.size() - i)));
      id = add_missing(block.walks[i]);
    }
    begin = stack.end;
    try {
      add_values(id, numbers.first(values_.size()));
    } catch (const Error& error) {
      return FoldedBlock::Line{stack.line, error.what()};
    }
    numbers = numbers.subspan(values_.size());
  }
  return std::nullopt;
}

Profile FoldedTree::take_profile() {
  known_.clear();
  return std::move(profile);
}

// How many names the last stack begins with, too.
size_t FoldedTree::shared_names(std::span<const FrameId> frames) const {
  size_t same = 0;
  while (same < std::min(path_.size(), frames.size()) &&
         profile.stacks[path_[same]].frame == frames[same])
    ++same;
  return same;
}

// In order: adds the frames that follow the first `kept` ones of the last stack.
StackId FoldedTree::add_new(size_t kept, std::span<const FrameId> frames) {
  path_.resize(kept);
  for (const FrameId frame : frames)
    path_.push_back(profile.stacks.append(path_.empty() ? StackId{} : path_.back(), frame));
  return path_.back();
}

// Finds the longest known stack of each.
void FoldedTree::search(std::span<FoldedStacks::Walk> walks) {
  walking_.clear();
  for (FoldedStacks::Walk& walk : walks) walking_.push_back(&walk);
  while (!walking_.empty())
    std::erase_if(walking_, [&](FoldedStacks::Walk* walk) { return !advance(*walk); });
}

// Goes on until memory has to be waited for; false at the end of the known stack. The first callee
// of a stack mostly comes right after it. Others are in the index, whose memory is waited for, and
// then that of the stack itself.
bool FoldedTree::advance(FoldedStacks::Walk& walk) const {
  const StackTable& stacks = profile.stacks;
  if (walk.next == walk.end) return false;
  if (walk.likely == UINT32_MAX) {
    walk.likely = stacks.likely(walk.at, *walk.next);
    stacks.prefetch_node(walk.likely);
    return walk.likely != 0;
  }
  if (walk.likely != 0) {
    if (!stacks.is_at(walk.likely, walk.at, *walk.next)) return false;  // see add_missing()
    walk.at = StackId{walk.likely};
    ++walk.next;
  }
  for (; walk.next != walk.end; ++walk.next) {
    const size_t behind = walk.at.index + size_t{1};
    if (!stacks.is_at(behind, walk.at, *walk.next)) {
      stacks.prefetch(walk.at, *walk.next);
      walk.likely = UINT32_MAX;
      return true;
    }
    walk.at = StackId{static_cast<uint32_t>(behind)};
  }
  return false;
}

// Stacks of this batch may have added some of it.
StackId FoldedTree::add_missing(FoldedStacks::Walk walk) {
  for (; walk.next != walk.end; ++walk.next) {
    const StackId known = profile.stacks.find(walk.at, *walk.next);
    if (!known) break;
    walk.at = known;
  }
  for (; walk.next != walk.end; ++walk.next) walk.at = profile.stacks.add(walk.at, *walk.next);
  return walk.at;
}

void FoldedTree::add_values(StackId stack, std::span<const Decimal> numbers) {
  for (size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i].decimals > profile.types[i].decimals)
      profile.set_decimals(i, numbers[i].decimals);
  for (size_t i = 0; i < numbers.size(); ++i) {
    values_[i] = numbers[i].digits;
    const int missing = profile.types[i].decimals - numbers[i].decimals;
    if (missing > 0 && __builtin_mul_overflow(values_[i], power_of_ten(missing), &values_[i]))
      throw Error("its number leaves the range of 64 bits, with as many decimals as others have");
  }
  profile.add(stack, values_);
}

FrameId FoldedTree::find_frame(const FoldedStacks::Name& name) {
  if (name.is_root && layout_.roots_are_processes) return make_frame(name, FrameKind::process);
  if (const uint32_t known = known_.find(name.hash); known != 0) return FrameId{known};
  const FrameId frame = make_frame(name, FrameKind::user);
  known_.insert(name.hash, frame.index);
  return frame;
}

// Different names make different frames.
FrameId FoldedTree::make_frame(const FoldedStacks::Name& name, FrameKind plain_kind) {
  std::string_view text = name.text;
  const FrameKind marked = take_mark(text);
  const FrameKind kind = marked == FrameKind::user ? plain_kind : marked;
  return profile.frames.intern({profile.strings.intern(text), {}, {}, 0, kind});
}

}  // namespace memflame
