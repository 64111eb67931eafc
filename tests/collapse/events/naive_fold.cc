// SPDX-License-Identifier: BSD-2-Clause
#include "tests/collapse/events/naive_fold.h"

#include <algorithm>
#include <map>

namespace memflame {
namespace {

class Naive {
 public:
  Naive(const std::vector<Item>& items, const History& history, uint64_t end_ns)
      : items_(items), history_(history), end_ns_(end_ns) {}

  std::vector<std::pair<Block, Chain>> run() {
    for (at_ = 0; at_ < items_.size(); ++at_) {
      if (const auto* event = std::get_if<Event>(&items_[at_])) take(*event);
      if (const auto* gap = std::get_if<EventGap>(&items_[at_])) gaps_.push_back(*gap);
      if (const auto* checkpoint = std::get_if<Checkpoint>(&items_[at_])) take(*checkpoint);
    }
    for (auto& [number, life] : lives_)
      if (!life.is_over) end(life, end_ns_);
    std::vector<std::pair<Block, Chain>> all;
    for (const auto& [number, life] : lives_) all.emplace_back(life.block, chain_of(life.block));
    return all;
  }

 private:
  struct Life {
    Block block;
    bool is_over = false;
    size_t absent_until = 0;  // the place of the restore after a free
  };

  const Event* event_at(size_t place) const { return std::get_if<Event>(&items_[place]); }

  // The place of the next call of that thread; the end if a gap comes first.
  size_t next_call(ThreadId thread, bool across_gaps) const {
    size_t place = at_ + 1;
    for (; place < items_.size(); ++place) {
      if (!across_gaps && std::holds_alternative<EventGap>(items_[place])) return items_.size();
      const Event* const event = event_at(place);
      if (event != nullptr && event->kind != EventKind::end_of_space && event->thread == thread)
        break;
    }
    return place;
  }

  // The place of the restore that undoes the free at this place; 0 if there is none.
  size_t restore_of(size_t place) const {
    const Event& free = *event_at(place);
    for (size_t i = place + 1; i < items_.size(); ++i) {
      const Event* const event = event_at(i);
      if (event == nullptr || event->kind == EventKind::end_of_space ||
          event->thread != free.thread)
        continue;
      return event->kind == EventKind::restore && event->block == free.block ? i : 0;
    }
    return 0;
  }

  void begin(Block block) {
    const size_t next = next_call(block.thread, false);
    if (next < items_.size()) {
      const Event& event = *event_at(next);
      block.transient =
          (event.kind == EventKind::free && event.block == block.number && restore_of(next) == 0) ||
          (event.kind == EventKind::move && event.moved == block.number);
    }
    lives_[block.number].block = block;
  }

  void take(const Event& event) {
    Block block{.number = event.block,
                .first = event.block,
                .allocated_ns = event.time_ns,
                .address = event.address,
                .size = event.size,
                .weight = event.weight,
                .count = event.count,
                .thread = event.thread,
                .freeing_thread = {},
                .stack = event.stack,
                .freeing_stack = {}};
    switch (event.kind) {
      case EventKind::allocation:
        return begin(block);
      case EventKind::move:
        if (Life* const old = living(event.moved)) {
          old->is_over = old->block.moved = true;
          free(*old, event);
          block.first = old->block.first;
          block.position = old->block.position + 1;
        }
        return begin(block);
      case EventKind::free:
        if (Life* const old = living(event.block)) {
          old->absent_until = restore_of(at_);
          if (old->absent_until != 0) return;
          old->is_over = true;
          free(*old, event);
        }
        return;
      case EventKind::restore:
        return;
      case EventKind::end_of_space:
        for (auto& [number, life] : lives_)
          if (!life.is_over && space_of(life.block) == event.space) end(life, event.time_ns);
        return;
    }
  }

  void take(const Checkpoint& checkpoint) {
    for (auto& [number, life] : lives_) {
      const auto is_it = [wanted = number](const LiveBlock& block) {
        return block.block == wanted;
      };
      const bool is_there = std::any_of(checkpoint.blocks.begin(), checkpoint.blocks.end(), is_it);
      if (is_there && life.is_over) {
        // Its restore is lost.
        life.is_over = false;
        life.block.freed_ns = never_freed;
        life.block.freeing_thread = {};
        life.block.freeing_stack = {};
        life.block.transient = false;
      }
      if (is_there || life.is_over || life.absent_until > at_) continue;
      life.is_over = true;
      life.block.uncertain = true;
      life.block.transient = false;
      life.block.freed_ns = life.block.end_ns =
          gaps_.empty() ? checkpoint.time_ns : gaps_.back().until_ns;
    }
    for (const LiveBlock& block : checkpoint.blocks)
      if (!lives_.contains(block.block)) {
        lives_[block.block].block = {.number = block.block,
                                     .first = block.block,
                                     .allocated_ns = block.allocated_ns,
                                     .address = block.address,
                                     .size = block.size,
                                     .weight = block.weight,
                                     .count = block.count,
                                     .thread = block.thread,
                                     .freeing_thread = {},
                                     .stack = block.stack,
                                     .freeing_stack = {}};
      }
    gaps_.clear();
  }

  Life* living(BlockNumber number) {
    const auto known = lives_.find(number);
    return known == lives_.end() || known->second.is_over ? nullptr : &known->second;
  }

  static void free(Life& life, const Event& event) {
    life.block.freed_ns = life.block.end_ns = event.time_ns;
    life.block.freeing_thread = event.thread;
    life.block.freeing_stack = event.stack;
  }

  void end(Life& life, uint64_t time_ns) {
    life.is_over = true;
    life.block.end_ns = time_ns;
    life.block.uncertain = !gaps_.empty() && time_ns > gaps_.front().from_ns &&
                           life.block.allocated_ns < gaps_.back().until_ns;
  }

  SpaceId space_of(const Block& block) const {
    return history_.recording.stacks[block.stack.index].space;
  }

  Chain chain_of(const Block& block) const {
    Chain chain;
    const Block* last = &block;
    for (const auto& [number, life] : lives_) {
      if (life.block.first != block.first) continue;
      if (life.block.position > last->position) last = &life.block;
      if (life.block.position != 1) continue;
      chain.allocated_ns = life.block.allocated_ns;
      chain.first_size = life.block.size;
    }
    chain.length = last->position;
    chain.end_ns = last->end_ns;
    chain.last_size = last->size;
    chain.leaked = last->leaked();
    return chain;
  }

  const std::vector<Item>& items_;
  const History& history_;
  const uint64_t end_ns_;
  size_t at_ = 0;
  std::map<BlockNumber, Life> lives_;
  std::vector<EventGap> gaps_;  // since the last checkpoint
};

}  // namespace

std::vector<std::pair<Block, Chain>> naive_blocks(const std::vector<Item>& items,
                                                  const History& history, uint64_t end_ns) {
  return Naive(items, history, end_ns).run();
}

}  // namespace memflame
