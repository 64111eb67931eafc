// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/events/event_culler.h"

#include <algorithm>
#include <utility>

namespace memflame {
namespace {

bool makes_block(const Event& event) {
  return event.kind == EventKind::allocation || event.kind == EventKind::move;
}

uint64_t bytes_of_event(const Event& event) {
  return event.weight != 0 ? event.weight : event.size;
}

}  // namespace

void EventCuller::add(std::span<const Event> events) {
  for (const Event& event : events) add(event);
}

void EventCuller::add(const Event& event) {
  newest_ns_ = std::max(newest_ns_, event.time_ns);
  switch (event.kind) {
    case EventKind::allocation:
      return hold(event, begin(event));
    case EventKind::move: {
      const uint32_t place = chain_of(event.moved);
      if (place == 0) return hold(event, 0);
      undecided_.erase(event.moved);
      undecided_[event.block] = place;
      Chain& chain = chains_[place];
      chain.block = event.block;
      chain.last = event;
      chain.freed_ns = never_freed;
      return hold(event, place);
    }
    case EventKind::free: {
      const uint32_t place = chain_of(event.block);
      if (place != 0) chains_[place].freed_ns = event.time_ns;
      return hold(event, place);
    }
    case EventKind::restore: {
      const uint32_t place = chain_of(event.block);
      if (place == 0) return revive(event);
      chains_[place].freed_ns = never_freed;
      return hold(event, place);
    }
    case EventKind::end_of_space:
      return hold(event, 0);
  }
}

uint32_t EventCuller::chain_of(BlockNumber block) const {
  const auto found = undecided_.find(block);
  return found == undecided_.end() ? 0 : found->second;
}

uint32_t EventCuller::begin(const Event& event) {
  uint32_t place = static_cast<uint32_t>(chains_.size());
  if (free_places_.empty()) {
    chains_.emplace_back();
  } else {
    place = free_places_.back();
    free_places_.pop_back();
  }
  chains_[place] = {.begun_ns = event.time_ns, .block = event.block, .last = event};
  undecided_[event.block] = place;
  return place;
}

void EventCuller::hold(const Event& event, uint32_t chain) {
  held_.push_back({event, chain});
  if (chain != 0) ++chains_[chain].held;
}

// It lives on. Its events are gone, so it begins anew here. If its sum was taken already, it is
// counted there, too.
void EventCuller::revive(const Event& event) {
  const auto found = culled_last_.find(event.thread.index);
  if (found == culled_last_.end() || found->second.block != event.block) return hold(event, 0);
  Event again = found->second;
  culled_last_.erase(found);
  if (const auto sum = culled_.find(again.stack.index); sum != culled_.end()) {
    sum->second.blocks -= std::min<uint64_t>(sum->second.blocks, again.count);
    sum->second.bytes -= std::min(sum->second.bytes, bytes_of_event(again));
  }
  again.kind = EventKind::allocation;
  again.moved = BlockNumber::none;
  again.time_ns = event.time_ns;
  hold(again, 0);
}

std::vector<Event> EventCuller::take(bool all) {
  std::vector<Event> taken;
  while (!held_.empty() &&
         (all || held_.size() > most_ || newest_ns_ - held_.front().event.time_ns >= below_ns_)) {
    const Held held = held_.front();
    held_.pop_front();
    Chain& chain = chains_[held.chain];
    if (held.chain != 0) decide(chain, held.chain);
    if (chain.is_culled)
      cull(held.event, chain);
    else
      taken.push_back(held.event);
    if (held.chain != 0) forget_event(held.chain);
  }
  return taken;
}

void EventCuller::decide(Chain& chain, uint32_t place) {
  if (std::exchange(chain.is_decided, true)) return;
  chain.is_culled = chain.freed_ns != never_freed && chain.freed_ns - chain.begun_ns < below_ns_;
  if (chain_of(chain.block) == place) undecided_.erase(chain.block);
}

void EventCuller::cull(const Event& event, const Chain& chain) {
  if (makes_block(event)) {
    CulledStack& sum = culled_[event.stack.index];
    sum.stack = event.stack;
    sum.blocks += event.count;
    sum.bytes += bytes_of_event(event);
  } else if (event.kind == EventKind::free) {
    culled_last_[event.thread.index] = chain.last;
  }
}

void EventCuller::forget_event(uint32_t chain) {
  if (--chains_[chain].held != 0) return;
  chains_[chain] = {};
  free_places_.push_back(chain);
}

CulledBlocks EventCuller::take_culled() {
  CulledBlocks culled{.below_ns = below_ns_};
  for (const auto& [index, sum] : std::exchange(culled_, {})) culled.stacks.push_back(sum);
  return culled;
}

}  // namespace memflame
