// SPDX-License-Identifier: BSD-2-Clause
#include "tests/collapse/events/made_events.h"

#include <algorithm>

namespace memflame {
namespace {

constexpr uint32_t spaces = 3, stacks_of_a_space = 6, threads = 5;

// So that gaps and checkpoints are told apart from events in the same instant.
constexpr uint64_t unit_ns = 1000;

}  // namespace

void hand_on(const std::vector<Item>& items, EventSink& sink, size_t part) {
  std::vector<Event> events;
  const auto flush = [&] {
    if (!events.empty()) sink.events(events);
    events.clear();
  };
  for (const Item& item : items) {
    if (const auto* event = std::get_if<Event>(&item)) {
      events.push_back(*event);
      continue;
    }
    flush();
    if (const auto* gap = std::get_if<EventGap>(&item)) {
      sink.gap(*gap);
      continue;
    }
    const auto& checkpoint = std::get<Checkpoint>(item);
    const std::span<const LiveBlock> blocks(checkpoint.blocks);
    size_t at = 0;
    do {
      const size_t count = std::min(part, blocks.size() - at);
      sink.checkpoint({.time_ns = checkpoint.time_ns,
                       .is_first = at == 0,
                       .is_last = at + count == blocks.size(),
                       .blocks = blocks.subspan(at, count)});
      at += count;
    } while (at < blocks.size());
  }
  flush();
}

History history_of_events() {
  History history;
  Recording& recording = history.recording;
  recording.types = {{"live", Unit::bytes}, {"live-count", Unit::count}};
  for (uint32_t space = 1; space <= spaces; ++space) {
    recording.spaces.emplace_back().pid = 100 + space;
    for (uint32_t i = 0; i < stacks_of_a_space; ++i) {
      RawStack& stack = recording.stacks.emplace_back();
      stack.space = SpaceId{space};
      stack.pcs = {{0x1000 + i, false}, {0x2000, true}};
    }
  }
  for (uint32_t i = 0; i < threads; ++i)
    history.threads.push_back(
        {.space = SpaceId{i % spaces + 1}, .tid = 100 + i, .name = "thread " + std::to_string(i)});
  Look& look = history.looks.emplace_back();
  look.time_ns = 1;
  return history;
}

MadeUpEvents::MadeUpEvents(const EventShape& shape)
    : shape_(shape), random_(shape.seed), has_ended_(spaces + 1, false) {
  for (size_t i = 0; i < shape_.calls; ++i) {
    time_ns_ += any(0, shape_.most_step_ns) / unit_ns * unit_ns;
    if (shape_.gaps && !is_losing_ && maybe(30)) {
      is_losing_ = true;
      lost_from_ns_ = time_ns_;
      lost_ = 0;
    }
    if (maybe(40)) {
      end_space();
    } else {
      call();
    }
    const bool ends = is_losing_ && failing_.empty() && (maybe(5) || i + 1 == shape_.calls);
    if (ends) {
      items.emplace_back(EventGap{.from_ns = lost_from_ns_, .until_ns = time_ns_, .events = lost_});
      is_losing_ = false;
    }
    if (ends || (shape_.checkpoints && !is_losing_ && maybe(15))) checkpoint();
  }
  end_ns = time_ns_ + unit_ns;
  if (is_losing_)
    items.emplace_back(EventGap{.from_ns = lost_from_ns_, .until_ns = end_ns, .events = lost_});
}

uint64_t MadeUpEvents::any(uint64_t least, uint64_t most) {
  return least + random_() % (most - least + 1);
}

void MadeUpEvents::tell(const Event& event) {
  if (is_losing_) {
    ++lost_;
  } else {
    items.emplace_back(event);
  }
}

void MadeUpEvents::call() {
  const ThreadId thread{static_cast<uint32_t>(any(1, threads))};
  const SpaceId space = history_.threads[thread.index].space;
  if (has_ended_[space.index]) return;
  if (const auto failing = failing_.find(thread); failing != failing_.end()) {
    const LiveBlock& block = failing->second.was;
    tell({.kind = EventKind::restore,
          .time_ns = time_ns_,
          .thread = thread,
          .space = {},
          .block = block.block,
          .stack = {}});
    live.emplace(block.block, block);
    failing_.erase(failing);
    return;
  }
  const BlockNumber old = some_block(space);
  if (old == BlockNumber::none || maybe(3)) return allocate(thread, BlockNumber::none);
  if (maybe(3)) return allocate(thread, old);
  if (shape_.failing_reallocs && maybe(6)) failing_[thread] = {old, live.at(old)};
  const RawStackId stack{maybe(2) ? (space.index - 1) * stacks_of_a_space + 1 : 0};
  tell({.kind = EventKind::free,
        .time_ns = time_ns_,
        .thread = thread,
        .space = {},
        .block = old,
        .stack = stack});
  live.erase(old);
}

void MadeUpEvents::allocate(ThreadId thread, BlockNumber moved) {
  const SpaceId space = history_.threads[thread.index].space;
  const auto first = (space.index - 1) * stacks_of_a_space;
  const BlockNumber number{next_};
  // Some are not recorded.
  next_ += maybe(10) ? 3U : 1U;
  const bool is_sampled = maybe(4);
  const LiveBlock block{
      .block = number,
      .allocated_ns = time_ns_,
      .thread = thread,
      .stack = RawStackId{first + static_cast<uint32_t>(any(1, stacks_of_a_space))},
      .address = moved != BlockNumber::none && maybe(2)
                     ? live.at(moved).address
                     : 0x1000 + 16 * any(0, 5000) + any(0, 20) / 20,
      .size = any(0, 4000),
      .weight = is_sampled ? any(1, 100'000) : 0,
      .count = is_sampled ? static_cast<uint32_t>(any(1, 100)) : 1};
  live.erase(moved);
  live.emplace(number, block);
  const bool is_move = moved != BlockNumber::none;
  tell({.kind = is_move ? EventKind::move : EventKind::allocation,
        .time_ns = time_ns_,
        .thread = thread,
        .space = {},
        .block = number,
        .moved = moved,
        .stack = block.stack,
        .address = block.address,
        .size = block.size,
        .weight = block.weight,
        .count = block.count});
}

BlockNumber MadeUpEvents::some_block(SpaceId space) {
  std::vector<BlockNumber> blocks;
  for (const auto& [number, block] : live)
    if (history_.recording.stacks[block.stack.index].space == space) blocks.push_back(number);
  if (blocks.empty()) return BlockNumber::none;
  // The last one now and then: blocks that live for one call only.
  return maybe(3) ? blocks.back() : blocks[any(0, blocks.size() - 1)];
}

// The recorder knows of the end, even if it has lost events.
void MadeUpEvents::end_space() {
  const SpaceId space{static_cast<uint32_t>(any(1, spaces))};
  const bool is_failing = std::any_of(failing_.begin(), failing_.end(), [&](const auto& failing) {
    return history_.threads[failing.first.index].space == space;
  });
  if (has_ended_[space.index] || is_failing || is_losing_) return;
  has_ended_[space.index] = true;
  Event event{.kind = EventKind::end_of_space,
              .time_ns = time_ns_,
              .thread = {},
              .space = space,
              .stack = {}};
  tell(event);
  for (auto block = live.begin(); block != live.end();) {
    if (history_.recording.stacks[block->second.stack.index].space != space) {
      ++block;
      continue;
    }
    leaked.insert(*block);
    block = live.erase(block);
  }
}

void MadeUpEvents::checkpoint() {
  Checkpoint& checkpoint =
      std::get<Checkpoint>(items.emplace_back(Checkpoint{.time_ns = time_ns_, .blocks = {}}));
  for (const auto& [number, block] : live) checkpoint.blocks.push_back(block);
  std::stable_sort(
      checkpoint.blocks.begin(), checkpoint.blocks.end(),
      [](const LiveBlock& a, const LiveBlock& b) { return a.allocated_ns < b.allocated_ns; });
}

}  // namespace memflame
