// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/events/event_codec.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/error.h"

namespace memflame {
namespace {

constexpr unsigned in_nanoseconds = 1, with_addresses = 2;
constexpr uint64_t ns_of_a_unit = 1000;

// A column is a text in the chunk, and empty if all its numbers are 0.
struct WrittenColumn {
  ByteWriter bytes;
  bool is_zero = true;

  void number(uint64_t value) {
    bytes.number(value);
    is_zero = is_zero && value == 0;
  }
  void signed_number(int64_t value) {
    bytes.signed_number(value);
    is_zero = is_zero && value == 0;
  }
  void step(uint64_t from, uint64_t to) { signed_number(static_cast<int64_t>(to - from)); }
  void add_to(ByteWriter& out) { out.text(is_zero ? std::string_view() : bytes.take()); }
};

struct ReadColumn {
  ByteReader bytes;
  bool is_zero;

  explicit ReadColumn(ByteReader& in) : ReadColumn(in.text()) {}
  explicit ReadColumn(std::string_view text) : bytes(text), is_zero(text.empty()) {}

  uint64_t number() { return is_zero ? 0 : bytes.number(); }
  uint64_t number_below(uint64_t end, const char* what) {
    return is_zero && end != 0 ? 0 : bytes.number_below(end, what);
  }
  int64_t signed_number() { return is_zero ? 0 : bytes.signed_number(); }
  uint64_t step(uint64_t from) { return from + static_cast<uint64_t>(signed_number()); }
  uint32_t step_below(uint32_t from, uint64_t end, const char* what) {
    const uint64_t to = step(from);
    if (to >= end) throw DamagedChunk(std::string("it has ") + what + " that cannot be");
    return static_cast<uint32_t>(to);
  }
  // Told against the number that is expected, which becomes the one behind it.
  BlockNumber block(uint64_t& expected) {
    const uint64_t number = step(expected);
    if (number == 0) throw DamagedChunk("it has a block that cannot be");
    expected = number + 1;
    return BlockNumber{number};
  }
  void end() const {
    if (!bytes.at_end()) throw DamagedChunk("it has a column that is too long");
  }
};

bool is_new(const Event& event) {
  return event.kind == EventKind::allocation || event.kind == EventKind::move;
}

// The block that an event ends, or goes on with.
BlockNumber& earlier_block(Event& event) {
  return event.kind == EventKind::move ? event.moved : event.block;
}
BlockNumber earlier_block(const Event& event) {
  return event.kind == EventKind::move ? event.moved : event.block;
}

uint64_t number_of(BlockNumber block) { return static_cast<uint64_t>(block); }

// Overflow is damage: `time` and the result are in units.
uint64_t later(uint64_t time, uint64_t units, uint64_t unit_ns) {
  if (units > EventGap::no_end / unit_ns - 1 - time)
    throw DamagedChunk("it has a time that cannot be");
  return time + units;
}

struct ChunkFlags {
  uint64_t unit_ns;
  bool addresses;
};

ChunkFlags flags_of(ByteReader& in) {
  const uint64_t flags = in.number_below((in_nanoseconds | with_addresses) + 1, "flags");
  return {.unit_ns = (flags & in_nanoseconds) != 0 ? 1 : ns_of_a_unit,
          .addresses = (flags & with_addresses) != 0};
}

}  // namespace

void EventColumns::clear() {
  sizes_.clear();
  weights_.clear();
  addresses_.clear();
}

std::span<const uint32_t> EventColumns::by_thread(std::span<const Event> events) {
  order_.resize(events.size());
  std::iota(order_.begin(), order_.end(), 0);
  const auto thread = [&](uint32_t place) { return events[place].thread; };
  const auto is_before = [&](uint32_t a, uint32_t b) { return thread(a) < thread(b); };
  if (!std::is_sorted(order_.begin(), order_.end(), is_before))
    std::stable_sort(order_.begin(), order_.end(), is_before);
  return order_;
}

uint64_t EventEncoder::unit_ns() const { return options_.nanoseconds ? 1 : ns_of_a_unit; }

uint64_t EventEncoder::rounded(uint64_t time_ns) const { return time_ns - time_ns % unit_ns(); }

unsigned EventEncoder::flags() const {
  return (options_.nanoseconds ? in_nanoseconds : 0) | (options_.addresses ? with_addresses : 0);
}

std::string EventEncoder::events(std::span<const Event> events) {
  clear();
  ByteWriter times, out;
  WrittenColumn threads, kinds, fresh, earlier, stacks, sizes, weights, counts, free_stacks, spaces,
      ways, steps;
  uint64_t time = 0, expected = 1;
  for (const Event& event : events) {
    const uint64_t units = event.time_ns / unit_ns();
    if (units < time) throw Error("internal: events are not in the order of time");
    times.number(units - time);
    time = units;
    threads.number(event.thread.index);
    if (!is_new(event)) continue;
    fresh.step(expected, number_of(event.block));
    expected = number_of(event.block) + 1;
  }
  uint64_t next_earlier = 1;
  RawStackId stack, free_stack;
  for (const uint32_t place : by_thread(events)) {
    const Event& event = events[place];
    kinds.number(static_cast<uint64_t>(event.kind));
    if (event.kind == EventKind::end_of_space) {
      spaces.number(event.space.index);
      continue;
    }
    if (event.kind != EventKind::allocation) {
      earlier.step(next_earlier, number_of(earlier_block(event)));
      next_earlier = number_of(earlier_block(event)) + 1;
    }
    if (event.kind == EventKind::free) {
      free_stacks.step(free_stack.index, event.stack.index);
      free_stack = event.stack;
      addresses_.freed(event.block);
    }
    if (!is_new(event)) continue;
    stacks.step(stack.index, event.stack.index);
    stack = event.stack;
    sizes.step(std::exchange(sizes_[stack.index], event.size), event.size);
    weights.step(std::exchange(weights_[stack.index], event.weight), event.weight);
    counts.step(1, event.count);
    if (!options_.addresses) continue;
    const AddressGuess::Told told = addresses_.tell(event);
    ways.number(told.way);
    if (told.has_step()) steps.signed_number(told.step);
  }
  out.number(flags());
  out.number(events.size());
  out.append(times);
  for (WrittenColumn* column : {&threads, &kinds, &fresh, &earlier, &stacks, &sizes, &weights,
                                &counts, &free_stacks, &spaces, &ways, &steps})
    column->add_to(out);
  return out.take();
}

std::span<const Event> EventDecoder::events(ByteReader& in, const EventLimits& limits) {
  clear();
  const ChunkFlags flags = flags_of(in);
  // Each event has at least a byte, for its time.
  events_.assign(std::min(in.count(), events_of_a_chunk + 1), Event{});
  if (events_.size() > events_of_a_chunk) throw DamagedChunk("it has too many events");
  uint64_t time = 0;
  for (Event& event : events_) {
    time = later(time, in.number(), flags.unit_ns);
    event.time_ns = time * flags.unit_ns;
  }
  ReadColumn threads(in), kinds(in), fresh(in), earlier(in), stacks(in), sizes(in), weights(in),
      counts(in), free_stacks(in), spaces(in), ways(in), steps(in);
  if (!in.at_end()) throw DamagedChunk("it has too many columns");

  for (Event& event : events_)
    event.thread =
        ThreadId{static_cast<uint32_t>(threads.number_below(limits.threads, "a thread"))};
  const std::span<const uint32_t> order = by_thread(events_);
  constexpr auto end_of_kinds = static_cast<uint64_t>(EventKind::end_of_space) + 1;
  for (const uint32_t place : order)
    events_[place].kind =
        static_cast<EventKind>(kinds.number_below(end_of_kinds, "a kind of event"));
  uint64_t expected = 1;
  for (Event& event : events_)
    if (is_new(event)) event.block = fresh.block(expected);

  uint64_t next_earlier = 1;
  RawStackId stack, free_stack;
  for (const uint32_t place : order) {
    Event& event = events_[place];
    if (event.kind == EventKind::end_of_space) {
      event.space = SpaceId{static_cast<uint32_t>(spaces.number_below(limits.spaces, "a process"))};
      continue;
    }
    if (event.kind != EventKind::allocation) earlier_block(event) = earlier.block(next_earlier);
    if (event.kind == EventKind::free) {
      free_stack.index = free_stacks.step_below(free_stack.index, limits.stacks, "a stack");
      event.stack = free_stack;
      addresses_.freed(event.block);
    }
    if (!is_new(event)) continue;
    stack.index = stacks.step_below(stack.index, limits.stacks, "a stack");
    event.stack = stack;
    event.size = sizes_[stack.index] = sizes.step(sizes_[stack.index]);
    event.weight = weights_[stack.index] = weights.step(weights_[stack.index]);
    event.count = counts.step_below(1, uint64_t{UINT32_MAX} + 1, "a number of blocks");
    if (!flags.addresses) continue;
    AddressGuess::Told told;
    told.way = static_cast<uint8_t>(ways.number_below(AddressGuess::ways, "a kind of address"));
    if (told.has_step()) told.step = steps.signed_number();
    if (!addresses_.understand(event, told)) throw DamagedChunk("it has an address that cannot be");
  }
  for (const ReadColumn* column : {&threads, &kinds, &fresh, &earlier, &stacks, &sizes, &weights,
                                   &counts, &free_stacks, &spaces, &ways, &steps})
    column->end();
  return events_;
}

std::vector<Chunk> EventEncoder::checkpoint(uint64_t time_ns, std::span<const LiveBlock> blocks) {
  std::vector<const LiveBlock*> sorted;
  sorted.reserve(blocks.size());
  for (const LiveBlock& block : blocks) sorted.push_back(&block);
  std::sort(sorted.begin(), sorted.end(), [](const LiveBlock* a, const LiveBlock* b) {
    return std::tie(a->allocated_ns, a->block) < std::tie(b->allocated_ns, b->block);
  });
  ByteWriter head;
  head.number(rounded(time_ns));
  head.number(blocks.size());
  head.number((blocks.size() + events_of_a_chunk - 1) / events_of_a_chunk);
  std::vector<Chunk> chunks;
  chunks.push_back({.kind = ChunkKind::checkpoints, .content = head.take()});
  std::vector<Event> allocations;
  for (size_t at = 0; at < sorted.size(); at += allocations.size()) {
    allocations.clear();
    for (size_t i = at; i < std::min(sorted.size(), at + events_of_a_chunk); ++i)
      allocations.push_back({.time_ns = sorted[i]->allocated_ns,
                             .thread = sorted[i]->thread,
                             .space = {},
                             .block = sorted[i]->block,
                             .stack = sorted[i]->stack,
                             .address = sorted[i]->address,
                             .size = sorted[i]->size,
                             .weight = sorted[i]->weight,
                             .count = sorted[i]->count});
    chunks.push_back({.kind = ChunkKind::live_blocks, .content = events(allocations)});
  }
  return chunks;
}

std::string EventEncoder::gap(const EventGap& gap) const {
  const bool has_end = gap.until_ns != EventGap::no_end;
  ByteWriter out;
  out.number(rounded(gap.from_ns));
  out.number(has_end ? rounded(gap.until_ns) + 1 : 0);
  out.number(gap.events);
  return out.take();
}

std::span<const LiveBlock> EventDecoder::blocks(ByteReader& in, const EventLimits& limits) {
  blocks_.clear();
  for (const Event& event : events(in, limits)) {
    if (event.kind != EventKind::allocation)
      throw DamagedChunk("it has something else than living blocks");
    blocks_.push_back({.block = event.block,
                       .allocated_ns = event.time_ns,
                       .thread = event.thread,
                       .stack = event.stack,
                       .address = event.address,
                       .size = event.size,
                       .weight = event.weight,
                       .count = event.count});
  }
  return blocks_;
}

CheckpointHead decode_checkpoint(ByteReader& in) {
  CheckpointHead head;
  head.time_ns = in.number_below(EventGap::no_end, "a time");
  head.blocks = in.number();
  head.chunks = in.number_below(head.blocks + 1, "a number of chunks");
  if ((head.blocks == 0) != (head.chunks == 0)) throw DamagedChunk("it has blocks in no chunk");
  if (!in.at_end()) throw DamagedChunk("it has more than a checkpoint begins with");
  return head;
}

void decode_gaps(ByteReader& in, MemoryBudget& budget, std::vector<EventGap>& into) {
  while (!in.at_end()) {
    budget.take(2 * sizeof(EventGap));
    EventGap& gap = into.emplace_back();
    gap.from_ns = in.number_below(EventGap::no_end, "a time");
    gap.until_ns = in.number() - 1;
    gap.events = in.number();
    if (gap.until_ns < gap.from_ns) throw DamagedChunk("it has a gap that ends before it begins");
  }
}

}  // namespace memflame
