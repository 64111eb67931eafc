// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/stack_tree.h"

#include <sys/random.h>

#include <algorithm>
#include <bit>

namespace memflame::inside {
namespace {

constexpr size_t first_slots = 1 << 14;

uint64_t random_seed() {
  uint64_t seed = 0;
  while (::getrandom(&seed, sizeof(seed), 0) != sizeof(seed)) {
  }
  return seed;
}

unsigned key_shift(size_t slots) { return 64 - static_cast<unsigned>(std::countr_zero(slots)); }

}  // namespace

StackTree::StackTree()
    : seed_(random_seed()),
      slots_(first_slots),
      shift_(key_shift(first_slots)),
      node_slots_(first_slots) {}

uint32_t StackTree::node(uint32_t parent, uint64_t word) {
  const size_t mask = node_slots_.size() - 1;
  size_t at = FrameChain::mix(FrameChain::mix(seed_, parent), word) >> 16 & mask;
  for (; node_slots_[at] != 0; at = (at + 1) & mask) {
    const Node& known = nodes_[node_slots_[at]];
    if (known.parent == parent && known.word == word) return node_slots_[at];
  }
  const auto number = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back({word, parent});
  node_slots_[at] = number;
  if (nodes_.size() * 2 > node_slots_.size()) grow_nodes();
  return number;
}

void StackTree::grow_nodes() {
  node_slots_.assign(node_slots_.size() * 2, 0);
  const size_t mask = node_slots_.size() - 1;
  for (uint32_t number = 1; number < nodes_.size(); ++number) {
    const Node& known = nodes_[number];
    size_t at = FrameChain::mix(FrameChain::mix(seed_, known.parent), known.word) >> 16 & mask;
    while (node_slots_[at] != 0) at = (at + 1) & mask;
    node_slots_[at] = number;
  }
}

void StackTree::remove(std::span<const uint32_t> numbers) {
  for (const uint32_t number : numbers) stacks_[number] = {};
  free_.insert(free_.end(), numbers.begin(), numbers.end());
  std::erase_if(added_, [this](uint32_t number) { return stacks_[number].space == 0; });
  put_in_slots(slots_.size());
}

// Those that are there, whose space is not 0.
void StackTree::put_in_slots(size_t slots) {
  std::vector<Slot> old(slots);
  old.swap(slots_);
  shift_ = key_shift(slots_.size());
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.key == 0 || stacks_[slot.number].space == 0) continue;
    size_t at = place(slot.key);
    while (slots_[at].key != 0) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

uint32_t StackTree::add(uint64_t key, std::span<const uint64_t> frames, Stack stack) {
  for (const uint64_t word : frames) stack.node = node(stack.node, word);
  auto number = static_cast<uint32_t>(stacks_.size());
  if (free_.empty()) {
    stacks_.push_back(stack);
    if (stacks_.size() * 2 > slots_.size()) put_in_slots(slots_.size() * 2);
  } else {
    number = free_.back();
    free_.pop_back();
    stacks_[number] = stack;
  }
  added_.push_back(number);
  size_t at = place(key);
  while (slots_[at].key != 0) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = {key, number};
  return number;
}

RawStack StackTree::raw(uint32_t number) const {
  const Stack& stack = stacks_[number];
  RawStack raw;
  raw.space = SpaceId{stack.space};
  raw.time_ns = stack.time_ns;
  raw.stop = static_cast<StopReason>(stack.stop);
  if (stack.leaf != 0) raw.pcs.push_back({stack.leaf, false});
  for (uint32_t at = stack.node; at != 0; at = nodes_[at].parent) {
    const uint64_t word = nodes_[at].word;
    if (word == no_frame) continue;
    const bool is_function = is_script({word, false});
    raw.pcs.push_back({word & ~exact_bit, !is_function && (word & exact_bit) == 0});
  }
  return raw;
}

}  // namespace memflame::inside
