// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/block_events.h"

#include <utility>

#include "probes/system/procfs.h"

namespace memflame::inside {
namespace {

uint64_t weight_of(const LiveEntry& block, const Estimate& estimate) {
  return estimate.bytes == block.size ? 0 : estimate.bytes;
}

}  // namespace

BlockEvents::BlockEvents(LiveBlocks& blocks, EventLog& log, const Ticks& ticks, bool free_stacks)
    : blocks_(blocks), log_(log), ticks_(ticks), free_stacks_(free_stacks) {
  blocks_.give_numbers();
}

void BlockEvents::begin(Teller& teller, SpaceId space, pid_t process, uint32_t thread) {
  const ThreadSeen seen = find_thread(process, thread);
  teller = {.ring = teller.ring,
            .thread = log_.new_thread(space, static_cast<uint32_t>(seen.tid), seen.name),
            .leaving = BlockNumber::none,
            .left_ticks = 0,
            .freed = {},
            .freed_number = BlockNumber::none};
}

void BlockEvents::end_of_space(SpaceId space) {
  ended_.insert(space.index);
  log_.add({.kind = EventKind::end_of_space, .time_ns = time_of(now_ticks()), .space = space});
}

void BlockEvents::add_free(ThreadId thread, BlockNumber block, uint64_t ticks, uint32_t stack) {
  log_.add({.kind = EventKind::free,
            .time_ns = time_of(ticks),
            .thread = thread,
            .block = block,
            .stack = RawStackId{stack}});
}

BlockNumber BlockEvents::take_leaving(Teller& teller) {
  const BlockNumber left = std::exchange(teller.leaving, BlockNumber::none);
  if (left != BlockNumber::none)
    std::erase_if(leaving_, [&](const auto& block) { return block.first == left; });
  return left;
}

// Whatever a realloc freed is gone. `stack`: the realloc's, if it is known.
void BlockEvents::settle(Teller& teller, uint32_t stack) {
  const BlockNumber left = take_leaving(teller);
  if (left != BlockNumber::none)
    add_free(teller.thread, left, teller.left_ticks, free_stacks_ ? stack : 0);
}

void BlockEvents::allocate(Teller& teller, const LiveEntry& block, bool is_realloc) {
  if (!is_realloc) settle(teller);
  const BlockNumber unseen = blocks_.number(block.space, block.address);
  const LiveBlocks::Taken taken = blocks_.allocate(block, teller.ring);
  if (unseen != BlockNumber::none) add_free(teller.thread, unseen, block.ticks);
  if (taken == LiveBlocks::Taken::passed_over) return settle(teller, block.stack);
  if (taken == LiveBlocks::Taken::no_room) {
    settle(teller, block.stack);
    return log_.lose(1, time_of(block.ticks));
  }
  const BlockNumber number = log_.new_number();
  const BlockNumber moved = take_leaving(teller);
  const Estimate estimate = blocks_.estimate(block);
  log_.add({.kind = moved != BlockNumber::none ? EventKind::move : EventKind::allocation,
            .time_ns = time_of(block.ticks),
            .thread = teller.thread,
            .space = {},
            .block = number,
            .moved = moved,
            .stack = RawStackId{block.stack},
            .address = block.address,
            .size = block.size,
            .weight = weight_of(block, estimate),
            .count = estimate.blocks});
  if (taken == LiveBlocks::Taken::freed_early) return add_free({}, number, block.ticks);
  blocks_.set_number(block.space, block.address, number);
}

void BlockEvents::free(Teller& teller, const Free& free) {
  settle(teller);
  const BlockNumber number = blocks_.number(free.space, free.address);
  teller.freed = blocks_.free(free.space, free.address, free.ticks, teller.ring);
  // A block that was displaced has had its free.
  teller.freed_number =
      teller.freed.was == LiveBlocks::Freed::Was::live ? number : BlockNumber::none;
  if (teller.freed_number == BlockNumber::none) return;
  if (!free.leaves) return add_free(teller.thread, number, free.ticks, free.stack);
  teller.leaving = number;
  leaving_.emplace_back(number, teller.freed.block);
  teller.left_ticks = free.ticks;
}

void BlockEvents::restore(Teller& teller, uint64_t address, uint64_t ticks) {
  if (teller.freed.was == LiveBlocks::Freed::Was::live && teller.freed.block.address != address)
    return settle(teller);
  const bool was_told = take_leaving(teller) == BlockNumber::none;
  const LiveBlocks::Freed freed = std::exchange(teller.freed, {});
  const BlockNumber number = std::exchange(teller.freed_number, BlockNumber::none);
  const bool lives = blocks_.restore(freed);
  if (number == BlockNumber::none) return;
  if (!lives) {
    if (!was_told) add_free(teller.thread, number, ticks);
    return;
  }
  blocks_.set_number(freed.block.space, freed.block.address, number);
  if (was_told)
    log_.add({.kind = EventKind::restore,
              .time_ns = time_of(ticks),
              .thread = teller.thread,
              .block = number});
}

void BlockEvents::lose(Teller& teller, uint64_t records, uint64_t ticks) {
  settle(teller);
  log_.lose(records, time_of(ticks));
}

Checkpoint BlockEvents::checkpoint(uint64_t now_ns) const {
  Checkpoint checkpoint{.time_ns = log_.since_start(now_ns), .blocks = {}};
  checkpoint.blocks.reserve(blocks_.table().size() + leaving_.size());
  const auto add = [&](const LiveEntry& block, BlockNumber number) {
    // What an ended process left stays in the table, but its story is told.
    if (number == BlockNumber::none || ended_.contains(block.space)) return;
    const Estimate estimate = blocks_.estimate(block);
    checkpoint.blocks.push_back({.block = number,
                                 .allocated_ns = time_of(block.ticks),
                                 .thread = {},
                                 .stack = RawStackId{block.stack},
                                 .address = block.address,
                                 .size = block.size,
                                 .weight = weight_of(block, estimate),
                                 .count = estimate.blocks});
  };
  blocks_.table().for_each_numbered([&](const LiveEntry& block, uint64_t number) {
    add(block, static_cast<BlockNumber>(number));
  });
  for (const auto& [number, block] : leaving_) add(block, number);
  return checkpoint;
}

}  // namespace memflame::inside
