// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/alloc_events.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "probes/loading/bpf_object.h"
#include "probes/loading/loaded_probe.h"
#include "probes/processes/spaces.h"
#include "probes/stacks/stack_log.h"
#include "probes/system/procfs.h"

namespace memflame {
namespace {

// Reading the table that often takes at most 1 in 16 of the time, even if it is always in vain.
constexpr uint64_t rest_after_reading = 16;

BlockNumber number_of(uint64_t word) {
  return static_cast<BlockNumber>(word & ((uint64_t{1} << bpf::number_bits) - 1));
}

uint64_t address_of(uint64_t word) { return word & ((uint64_t{1} << bpf::address_bits) - 1); }

constexpr uint64_t largest_told_size = (uint64_t{1} << 40) - 1;

uint64_t size_of(const bpf::begin_record& record) {
  return record.address >> bpf::address_bits | record.block >> bpf::number_bits << 16U;
}

}  // namespace

RawStackId AllocEvents::stack(uint64_t key) {
  const auto [at, is_new] = stack_numbers_.try_emplace(key, static_cast<uint32_t>(stacks_.size()));
  if (!is_new) return RawStackId{at->second};
  // The blocks of a checkpoint that is being made have numbers, too.
  if (!table_.is_begun())
    std::ranges::move(std::exchange(forgotten_, {}), std::back_inserter(free_));
  if (free_.empty()) {
    stacks_.push_back(key);
  } else {
    at->second = free_.back();
    free_.pop_back();
    stacks_[at->second] = key;
  }
  return RawStackId{at->second};
}

void AllocEvents::forget(std::span<const uint32_t> stack_numbers) {
  for (const uint32_t number : stack_numbers) stack_numbers_.erase(stacks_[number]);
  forgotten_.insert(forgotten_.end(), stack_numbers.begin(), stack_numbers.end());
}

ThreadId AllocEvents::thread(uint32_t tid, SpaceId space) {
  Living& living = threads_[tid];
  if (!living.id) {
    std::string name = read_comm(static_cast<pid_t>(tid));
    living = {.id = log_.new_thread(space, tid, std::move(name)), .space = space};
  }
  return living.id;
}

void AllocEvents::begin(const bpf::begin_record& record, bool is_plain) {
  const BlockNumber number = number_of(record.block);
  const bool is_new = !threads_.contains(record.tid);
  Event event{.kind = EventKind::allocation,
              .time_ns = log_.since_start(record.time),
              .thread = thread(record.tid, {}),
              .block = number,
              .stack = stack(record.stack),
              .address = address_of(record.address),
              .size = size_of(record)};
  if (is_new) unplaced_.push_back({event.thread, record.tid, event.stack});
  if (!is_plain) {
    event.moved = static_cast<BlockNumber>(record.moved);
    if (record.moved != 0) event.kind = EventKind::move;
    event.weight = record.weight == event.size ? 0 : record.weight;
    event.count = record.count;
  }
  if (event.kind == EventKind::allocation) ++live_;
  if (table_.is_begun()) {
    if (event.kind == EventKind::move) table_.ended(event.moved);
    table_.began({.block = number,
                  .allocated_ns = record.time,
                  .thread = event.thread,
                  .stack = event.stack,
                  .address = event.address,
                  .size = event.size,
                  .weight = event.weight,
                  .count = event.count});
  }
  log_.add(event);
}

void AllocEvents::end(const bpf::end_record& record, bool is_plain) {
  const BlockNumber number = number_of(record.block);
  const SpaceId space{static_cast<uint32_t>(record.block >> bpf::number_bits)};
  --live_;
  if (table_.is_begun()) table_.ended(number);
  log_.add({.kind = EventKind::free,
            .time_ns = log_.since_start(record.time),
            .thread = thread(record.tid, space),
            .block = number,
            .stack = is_plain ? RawStackId{} : stack(record.stack)});
}

void AllocEvents::end(SpaceId space, uint64_t time_ns) {
  if (ended_.size() <= space.index) ended_.resize(space.index + 1);
  ended_[space.index] = true;
  std::erase_if(threads_, [&](const auto& thread) { return thread.second.space == space; });
  log_.add({.kind = EventKind::end_of_space, .time_ns = log_.since_start(time_ns), .space = space});
}

void AllocEvents::see_losses(const LoadedProbe& probe, uint64_t now_ns) {
  bpf::event_state now{};
  if (!probe.object.lookup("event_state", uint32_t{0}, now)) return;
  if (now.lost > state_.lost) log_.lose_known(now.lost - state_.lost, seen_ns_);
  if (now.lost != state_.lost || now.put_back != state_.put_back) table_.stop();
  state_ = now;
  seen_ns_ = log_.since_start(now_ns);
}

void AllocEvents::poll(const LoadedProbe& probe) {
  const uint64_t now = monotonic_ns();
  handled_ns_ = std::exchange(polled_ns_, now);
  see_losses(probe, now);
  if (!table_.is_begun() && now >= next_try_ns_ &&
      log_.wants_checkpoint(static_cast<size_t>(std::max<int64_t>(live_, 0)), seen_ns_, false))
    table_.begin(now);
  const TableCheckpoint::Table wanted = table_.to_read(handled_ns_);
  if (wanted != TableCheckpoint::Table::none) read(probe, wanted);
}

void AllocEvents::read(const LoadedProbe& probe, TableCheckpoint::Table table) {
  const uint64_t began = monotonic_ns();
  const bool is_moving = table == TableCheckpoint::Table::moving;
  probe.object.for_each<bpf::block_key, bpf::block>(
      is_moving ? "moving" : "blocks", [&](const bpf::block_key& key, const bpf::block& block) {
        if (block.number == 0 || has_ended(SpaceId{key.space})) return;
        // As records have it.
        const uint64_t size = std::min(block.size, largest_told_size);
        table_.add({.block = number_of(block.number),
                    .allocated_ns = block.time_ns,
                    .thread = {},
                    .stack = stack(block.hash),
                    .address = address_of(key.address),
                    .size = size,
                    .weight = block.weight == size ? 0 : block.weight,
                    .count = block.count},
                   SpaceId{key.space});
      });
  const uint64_t now = monotonic_ns();
  table_.has_read(now);
  next_try_ns_ = std::max(next_try_ns_, now + rest_after_reading * (now - began));
}

SpaceId AllocEvents::space_of(const StackLog& stacks, RawStackId stack) const {
  return stacks.stack_of(stacks.known_as(stacks_[stack.index])).space;
}

Checkpoint AllocEvents::checkpoint(const StackLog& stacks) {
  // What an ended process left stays in the table, but its story is told.
  Checkpoint made{.time_ns = 0, .blocks = table_.take([&](const LiveBlock& block, SpaceId space) {
                    return has_ended(space ? space : space_of(stacks, block.stack));
                  })};
  for (LiveBlock& block : made.blocks) block.allocated_ns = log_.since_start(block.allocated_ns);
  live_ = static_cast<int64_t>(made.blocks.size());
  return made;
}

// Allocations do not say of which process they are; their stacks do.
void AllocEvents::place_threads(const StackLog& stacks) {
  for (const Unplaced& thread : unplaced_) {
    const SpaceId space = space_of(stacks, thread.stack);
    log_.place(thread.id, space);
    const auto living = threads_.find(thread.tid);
    if (living == threads_.end() || living->second.id != thread.id) continue;
    living->second.space = space;
    if (has_ended(space)) threads_.erase(living);  // another thread may get its number
  }
  unplaced_.clear();
}

EventBatch AllocEvents::take(const LoadedProbe& probe, const StackLog& stacks,
                             const std::function<void()>& drain) {
  if (is_over_) {
    drain();
    see_losses(probe, monotonic_ns());
    if (log_.has_gap()) {
      table_.begin(monotonic_ns());
      read(probe, TableCheckpoint::Table::blocks);
      read(probe, TableCheckpoint::Table::moving);
    }
  }
  std::optional<Checkpoint> made;
  if (is_over_ ? log_.has_gap() : table_.is_ready(handled_ns_)) made = checkpoint(stacks);
  // A checkpoint is of the time of the last event before it, or of that at which a gap ends.
  const uint64_t time_ns = log_.has_gap() ? seen_ns_ : 0;
  EventBatch batch = log_.take(time_ns, std::move(made));
  place_threads(stacks);
  return batch;
}

}  // namespace memflame
