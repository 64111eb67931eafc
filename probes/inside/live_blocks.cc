// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/live_blocks.h"

#include <bit>
#include <utility>

namespace memflame::inside {
namespace {

constexpr size_t first_entries = 1 << 14;
constexpr size_t most_displaced = 64, most_missed = 64;
constexpr int most_ancestors = 8;
constexpr uint64_t most_mean = uint64_t{1} << 30;

unsigned shift_for(size_t entries) { return 64 - static_cast<unsigned>(std::countr_zero(entries)); }

}  // namespace

LiveTable::LiveTable(size_t most)
    : entries_(first_entries), shift_(shift_for(first_entries)), most_(most) {}

// Where the entry is, or the empty one where it would be.
size_t LiveTable::slot(uint32_t space, uint64_t address) const {
  size_t at = place(space, address);
  while (entries_[at].address != 0 &&
         (entries_[at].address != address || entries_[at].space != space))
    at = (at + 1) & (entries_.size() - 1);
  return at;
}

const LiveEntry* LiveTable::find(uint32_t space, uint64_t address) const {
  const LiveEntry& entry = entries_[slot(space, address)];
  return entry.address == 0 ? nullptr : &entry;
}

LiveTable::Put LiveTable::put(const LiveEntry& entry, LiveEntry& old) {
  if ((size_ + 1) * 2 > entries_.size()) grow();
  LiveEntry& place = entries_[slot(entry.space, entry.address)];
  if (place.address != 0) {
    old = std::exchange(place, entry);
    return Put::replaced;
  }
  if (most_ != 0 && size_ >= most_) return Put::no_room;
  place = entry;
  ++size_;
  return Put::added;
}

std::optional<LiveEntry> LiveTable::take(uint32_t space, uint64_t address) {
  size_t hole = slot(space, address);
  const LiveEntry taken = entries_[hole];
  if (taken.address == 0) return std::nullopt;
  const size_t mask = entries_.size() - 1;
  for (size_t at = (hole + 1) & mask; entries_[at].address != 0; at = (at + 1) & mask) {
    // An entry may move up only if its own place is not between the hole and where it is.
    const size_t own = place(entries_[at].space, entries_[at].address);
    if (((at - own) & mask) < ((at - hole) & mask)) continue;
    entries_[hole] = entries_[at];
    if (!numbers_.empty()) numbers_[hole] = numbers_[at];
    hole = at;
  }
  entries_[hole] = {};
  if (!numbers_.empty()) numbers_[hole] = 0;
  --size_;
  return taken;
}

void LiveTable::grow() {
  std::vector<LiveEntry> old(entries_.size() * 2);
  old.swap(entries_);
  shift_ = shift_for(entries_.size());
  std::vector<uint64_t> old_numbers(numbers_.empty() ? 0 : entries_.size());
  old_numbers.swap(numbers_);
  for (size_t i = 0; i < old.size(); ++i) {
    if (old[i].address == 0) continue;
    const size_t at = slot(old[i].space, old[i].address);
    entries_[at] = old[i];
    if (!numbers_.empty()) numbers_[at] = old_numbers[i];
  }
}

std::optional<uint8_t> mean_number(uint64_t mean, uint64_t first) {
  if (first == 0) return std::nullopt;
  if (mean == first) return uint8_t{0};
  if (!std::has_single_bit(mean) || mean > most_mean) return std::nullopt;
  return static_cast<uint8_t>(1 + std::countr_zero(mean));
}

LiveBlocks::LiveBlocks(uint64_t min_size, uint64_t max_size, size_t most, uint64_t sample_bytes)
    : min_size_(min_size),
      max_size_(max_size),
      sample_bytes_(sample_bytes),
      counts_misses_(sample_bytes == 0 && min_size == 0 && max_size == UINT64_MAX),
      table_(most) {}

void LiveBlocks::begin(SpaceId space, SpaceId parent, uint64_t ticks) {
  if (births_.size() <= space.index) births_.resize(space.index + 1);
  births_[space.index] = {parent, ticks};
}

BlockSums& LiveBlocks::sum(uint32_t stack) {
  if (sums_.size() <= stack) sums_.resize(stack + 1);
  return sums_[stack];
}

Estimate LiveBlocks::estimate(const LiveEntry& block) const {
  if (sample_bytes_ == 0) return {.bytes = block.size, .blocks = 1};
  const uint64_t mean = block.mean == 0 ? sample_bytes_ : uint64_t{1} << (block.mean - 1);
  return estimate_of(block.size, mean, bpf::mix(block.address, block.ticks));
}

void LiveBlocks::add_total(const LiveEntry& block) {
  BlockSums& sums = sum(block.stack);
  const Estimate estimate = this->estimate(block);
  sums.total += static_cast<int64_t>(estimate.bytes);
  sums.total_count += estimate.blocks;
  stand_for_ += estimate.blocks;
  sums.total_variance += estimate.bytes_variance;
  sums.total_count_variance += estimate.blocks_variance;
}

// `sign`: 1 if the block begins to live, -1 if it ends.
void LiveBlocks::change_live(const LiveEntry& block, int sign) {
  BlockSums& sums = sum(block.stack);
  const Estimate estimate = this->estimate(block);
  sums.live += sign * static_cast<int64_t>(estimate.bytes);
  sums.live_count += sign * int64_t{estimate.blocks};
  sums.live_variance += sign * estimate.bytes_variance;
  sums.live_count_variance += sign * estimate.blocks_variance;
}

void LiveBlocks::add_unfollowed(const LiveEntry& block) {
  ++counters_.live_full_events;
  counters_.live_full_bytes += block.size;
  if (unfollowed_.size() <= block.space) unfollowed_.resize(block.space + 1);
  Unfollowed& blocks = unfollowed_[block.space];
  const Estimate estimate = this->estimate(block);
  blocks.bytes += static_cast<int64_t>(estimate.bytes);
  blocks.count += estimate.blocks;
  blocks.bytes_variance += estimate.bytes_variance;
  blocks.count_variance += estimate.blocks_variance;
}

// An address that is allocated again proves an unseen free.
void LiveBlocks::displace(const LiveEntry& old, uint64_t ticks, uint32_t ring) {
  change_live(old, -1);
  ++counters_.unseen_frees;
  counters_.unseen_free_bytes += old.size;
  if (displaced_.size() < most_displaced) displaced_.resize(most_displaced);
  displaced_[next_displaced_++ % most_displaced] = {old, ticks, ring};
  newest_displaced_ = ticks;
}

LiveBlocks::Taken LiveBlocks::allocate(const LiveEntry& block, uint32_t ring) {
  if (block.size < min_size_ || block.size > max_size_) {
    ++counters_.passed_over;
    const std::optional<LiveEntry> old = table_.take(block.space, block.address);
    if (old) displace(*old, block.ticks, ring);
    return Taken::passed_over;
  }
  ++counters_.events;
  counters_.amount += block.size;
  if (newest_missed_ != 0 && block.ticks - newest_missed_ <= window_ &&
      was_freed_early(block, ring)) {
    add_total(block);
    return Taken::freed_early;
  }
  LiveEntry old;
  const LiveTable::Put put = table_.put(block, old);
  if (put == LiveTable::Put::replaced) displace(old, block.ticks, ring);
  add_total(block);
  if (put == LiveTable::Put::no_room) {
    add_unfollowed(block);
    return Taken::no_room;
  }
  change_live(block, 1);
  return Taken::live;
}

bool LiveBlocks::was_freed_early(const LiveEntry& block, uint32_t ring) {
  for (Missed& free : missed_) {
    if (free.address != block.address || free.space != block.space || free.ring == ring) continue;
    if (block.ticks - free.ticks > window_) continue;
    free.address = 0;
    ++reordered_;
    if (counts_misses_) --counters_.free_misses;
    ++counters_.freed;
    counters_.freed_bytes += block.size;
    return true;
  }
  return false;
}

bool LiveBlocks::was_displaced(uint32_t space, uint64_t address, uint64_t ticks, uint32_t ring,
                               LiveEntry& block) {
  for (Displaced& old : displaced_) {
    if (old.block.address != address || old.block.space != space || old.ring == ring) continue;
    if (ticks - old.ticks > window_) continue;
    block = old.block;
    old.block.address = 0;
    return true;
  }
  return false;
}

bool LiveBlocks::is_inherited(uint32_t space, uint64_t address) const {
  for (int i = 0; i < most_ancestors && space < births_.size(); ++i) {
    const Birth& birth = births_[space];
    if (!birth.parent) return false;
    space = birth.parent.index;
    const LiveEntry* block = table_.find(space, address);
    if (block != nullptr && block->ticks < birth.ticks) return true;
  }
  return false;
}

// A free of an unknown address.
void LiveBlocks::miss(uint32_t space, uint64_t address, uint64_t ticks, uint32_t ring,
                      Freed& freed) {
  freed.was = Freed::Was::unknown;
  if (counts_misses_ && is_inherited(space, address)) {
    ++counters_.inherited_frees;
    freed.was = Freed::Was::inherited;
    return;
  }
  if (counts_misses_) ++counters_.free_misses;
  if (missed_.empty()) missed_.resize(most_missed);
  missed_[next_missed_++ % most_missed] = {address, ticks, space, ring};
  newest_missed_ = ticks;
}

LiveBlocks::Freed LiveBlocks::free(uint32_t space, uint64_t address, uint64_t ticks,
                                   uint32_t ring) {
  Freed freed;
  if (newest_displaced_ != 0 && ticks - newest_displaced_ <= window_ &&
      was_displaced(space, address, ticks, ring, freed.block)) {
    ++reordered_;
    ++counters_.freed;
    counters_.freed_bytes += freed.block.size;
    --counters_.unseen_frees;
    counters_.unseen_free_bytes -= freed.block.size;
    return freed;
  }
  const std::optional<LiveEntry> block = table_.take(space, address);
  if (!block) {
    miss(space, address, ticks, ring, freed);
    return freed;
  }
  freed.was = Freed::Was::live;
  ++counters_.freed;
  counters_.freed_bytes += block->size;
  change_live(*block, -1);
  freed.block = *block;
  return freed;
}

bool LiveBlocks::restore(const Freed& freed) {
  if (freed.was == Freed::Was::inherited) --counters_.inherited_frees;
  if (freed.was == Freed::Was::unknown && counters_.free_misses != 0) --counters_.free_misses;
  if (freed.was != Freed::Was::live) return false;
  const LiveEntry& block = freed.block;
  LiveEntry other;  // only a damaged ring restores what is there
  if (table_.find(block.space, block.address) != nullptr ||
      table_.put(block, other) != LiveTable::Put::added)
    return false;
  --counters_.freed;
  counters_.freed_bytes -= block.size;
  change_live(block, 1);
  return true;
}

void LiveBlocks::forget(const IsGone& is_gone) {
  std::vector<LiveEntry> gone;  // a copy, as the table must not change meanwhile
  table_.for_each([&](const LiveEntry& entry) {
    if (is_gone(SpaceId{entry.space})) gone.push_back(entry);
  });
  for (const LiveEntry& entry : gone) table_.take(entry.space, entry.address);
}

void LiveBlocks::forget_sums(const IsGone& is_gone,
                             const std::function<bool(uint32_t stack)>& is_stack_gone) {
  for (uint32_t stack = 1; stack < sums_.size(); ++stack)
    if (sums_[stack].total_count != 0 && is_stack_gone(stack)) sums_[stack] = {};
  for (uint32_t space = 1; space < unfollowed_.size(); ++space)
    if (unfollowed_[space].count != 0 && is_gone(SpaceId{space})) unfollowed_[space] = {};
}

}  // namespace memflame::inside
