// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/events/open_blocks.h"

#include <utility>

#include "core/hash.h"
#include "core/interner.h"

namespace memflame {
namespace {

constexpr size_t first_slots = 256;

}  // namespace

OpenBlocks::OpenBlocks()
    // Nobody can choose numbers that all meet in one place.
    : blocks_(1), slots_(first_slots), seed_(hash_bytes("blocks")) {}

OpenBlock* OpenBlocks::find(BlockNumber number) {
  const uint32_t tag = tag_of(number);
  const size_t mask = slots_.size() - 1;
  for (size_t at = tag & mask; slots_[at].place != 0; at = (at + 1) & mask)
    if (slots_[at].tag == tag && blocks_[slots_[at].place].number == number)
      return &blocks_[slots_[at].place];
  return nullptr;
}

void OpenBlocks::prefetch_block(BlockNumber number) const {
  const uint32_t tag = tag_of(number);
  const size_t mask = slots_.size() - 1;
  for (size_t at = tag & mask; slots_[at].place != 0; at = (at + 1) & mask)
    if (slots_[at].tag == tag) return __builtin_prefetch(&blocks_[slots_[at].place]);
}

OpenBlock& OpenBlocks::add(const OpenBlock& block) {
  if (2 * (size_ + 1) > slots_.size()) grow();
  uint32_t place = 0;
  if (free_.empty()) {
    place = next_index(blocks_.size());
    blocks_.push_back(block);
  } else {
    place = free_.back();
    free_.pop_back();
    blocks_[place] = block;
  }
  put({.tag = tag_of(block.number), .place = place});
  ++size_;
  return blocks_[place];
}

void OpenBlocks::remove(OpenBlock& block) {
  const auto place = static_cast<uint32_t>(&block - blocks_.data());
  const size_t mask = slots_.size() - 1;
  size_t hole = tag_of(block.number) & mask;
  while (slots_[hole].place != place) hole = (hole + 1) & mask;
  // Those behind it that would be found later than here move up.
  for (size_t at = (hole + 1) & mask; slots_[at].place != 0; at = (at + 1) & mask)
    if (((at - slots_[at].tag) & mask) >= ((at - hole) & mask))
      slots_[std::exchange(hole, at)] = slots_[at];
  slots_[hole] = {};
  block = {};
  free_.push_back(place);
  --size_;
}

void OpenBlocks::put(Slot slot) {
  const size_t mask = slots_.size() - 1;
  size_t at = slot.tag & mask;
  while (slots_[at].place != 0) at = (at + 1) & mask;
  slots_[at] = slot;
}

void OpenBlocks::grow() {
  HugeVector<Slot> old(2 * slots_.size());
  old.swap(slots_);
  for (const Slot& slot : old)
    if (slot.place != 0) put(slot);
}

void OpenBlocks::compact() {
  if (4 * size_ > places() || places() < first_slots) return;
  OpenBlocks smaller;
  each([&](const OpenBlock& block) { smaller.add(block); });
  *this = std::move(smaller);
}

}  // namespace memflame
