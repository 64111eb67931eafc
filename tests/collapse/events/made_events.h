// SPDX-License-Identifier: BSD-2-Clause
// Made-up runs of a few threads, as the events that a recorder would see of them.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "collapse/events/event_sink.h"
#include "core/history.h"

namespace memflame {

struct Checkpoint {
  uint64_t time_ns = 0;
  std::vector<LiveBlock> blocks;
  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};
using Item = std::variant<Event, EventGap, Checkpoint>;

// Keeps what it gets.
class ItemList : public EventSink {
 public:
  void events(std::span<const Event> events) override {
    items.insert(items.end(), events.begin(), events.end());
  }
  void gap(const EventGap& gap) override { items.emplace_back(gap); }
  void checkpoint(const CheckpointPart& part) override {
    if (part.is_first) items.emplace_back(Checkpoint{.time_ns = part.time_ns, .blocks = {}});
    std::vector<LiveBlock>& blocks = std::get<Checkpoint>(items.back()).blocks;
    blocks.insert(blocks.end(), part.blocks.begin(), part.blocks.end());
  }
  std::vector<Item> items;
};

// Hands the items to a sink, with checkpoints in parts of that many blocks.
void hand_on(const std::vector<Item>& items, EventSink& sink, size_t part = 3);

// Three processes, six stacks of each, five threads and a look, for events to refer to.
History history_of_events();

struct EventShape {
  unsigned seed = 1;
  size_t calls = 60;
  bool gaps = true;
  bool checkpoints = true;
  bool failing_reallocs = true;
  uint64_t most_step_ns = 5000;
};

class MadeUpEvents {
 public:
  explicit MadeUpEvents(const EventShape& shape);

  std::vector<Item> items;
  uint64_t end_ns = 0;
  // What really lives at the end, and in processes that have ended.
  std::map<BlockNumber, LiveBlock> live, leaked;

 private:
  struct Realloc {
    BlockNumber block = BlockNumber::none;
    LiveBlock was;
  };
  uint64_t any(uint64_t least, uint64_t most);
  bool maybe(unsigned one_in) { return any(1, one_in) == 1; }
  void call();
  void allocate(ThreadId thread, BlockNumber moved);
  void tell(const Event& event);
  void end_space();
  void checkpoint();
  BlockNumber some_block(SpaceId space);

  EventShape shape_;
  History history_ = history_of_events();
  std::mt19937_64 random_;
  uint64_t time_ns_ = 0, lost_ = 0, lost_from_ns_ = 0;
  uint64_t next_ = 1;
  bool is_losing_ = false;
  std::map<ThreadId, Realloc> failing_;  // between their free and their restore
  std::vector<bool> has_ended_;
};

}  // namespace memflame
