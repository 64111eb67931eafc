// SPDX-License-Identifier: BSD-2-Clause
#include "probes/inside/ring_reader.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

namespace memflame::inside {
namespace {

constexpr size_t batch_events = 64;
constexpr size_t batch_frames = 8192;
constexpr uint64_t ticks_of_a_record = 16;  // at least
constexpr uint64_t end_of_user_space = uint64_t{1} << 47U;

bool later(uint64_t a, uint64_t b) { return a > b; }

bool is_free(Kind kind) { return kind == kind_free || kind == kind_leave || kind == kind_free_at; }

}  // namespace

struct RingReader::Ring {
  uint32_t index = 0;
  uint32_t process = 0;
  uint32_t space = 0;
  uint32_t bytes = 0;
  bool active = false;
  bool is_damaged = false;
  bool has_ended = false;
  const uint64_t* memory = nullptr;
  uint64_t tail = 0, limit = 0;  // bytes: taken, and published when the round began
  uint64_t told = 0;             // the tail that its owner knows
  uint64_t time = 0;             // of the next record
  uint8_t mean = 0;              // of the samples to come, see LiveEntry
  FrameChain chain;
  std::vector<uint64_t> words;  // of the last stack that was looked up, outermost first
  uint64_t freed_address = 0;
  LiveBlocks::Freed freed;  // its last free
  BlockEvents::Teller teller;

  bool is_large() const { return bytes == large_ring_bytes; }
};

struct RingReader::Event {
  Ring* ring = nullptr;
  uint64_t pointer = 0, ticks = 0, size = 0;
  uint64_t key = 0;  // of the stack
  uint32_t first_word = 0, kept = 0, pushed = 0;
  uint32_t stack = 0;
  Kind kind = kind_pad;
  uint8_t stop = 0, mean = 0;
  Function function = fn_malloc;
};

RingReader::RingReader(Exchange& exchange, StackTree& stacks, LiveBlocks& blocks,
                       const Ticks& ticks)
    : exchange_(exchange),
      stacks_(stacks),
      blocks_(blocks),
      ticks_(ticks),
      owners_(most_processes),
      known_(most_rings / 64) {
  blocks_.set_window(ticks_.of_us(slack_us));
  batch_.reserve(batch_events);
  batch_words_.reserve(batch_frames + most_frames);
}

RingReader::~RingReader() = default;

void RingReader::open(uint32_t process, SpaceId space, const Functions& functions, pid_t pid,
                      uint64_t began) {
  owners_[process] = {.space = space,
                      .functions = functions,
                      .pid = pid,
                      .began = began,
                      .rings = 0,
                      .later = std::move(owners_[process].later)};
}

uint32_t RingReader::close(uint32_t process) {
  // Until all that it wrote is old enough.
  const uint64_t from = now_ticks();
  while (now_ticks() - from < ticks_.of_us(2 * slack_us)) __builtin_ia32_pause();
  read();
  for (Ring* ring : active_) {
    if (ring->process != process) continue;
    // What is left has times that no clock gave.
    while (!ring->is_damaged && peek(*ring)) decode(*ring);
  }
  finish_batch();
  for (Ring* ring : active_)
    if (ring->process == process) set_free(*ring);
  if (events_ != nullptr && owners_[process].space) events_->end_of_space(owners_[process].space);
  std::erase_if(active_, [](const Ring* ring) { return !ring->active; });
  return std::exchange(owners_[process], {}).rings;
}

size_t RingReader::round(uint64_t horizon, uint64_t ns) {
  _mm_lfence();  // the time was read before the rings are
  round_ns_ = ns;
  latest_ticks_ = std::min(horizon, now_ticks());
  find_rings();
  ready_.clear();
  for (Ring* ring : active_) look_at(*ring);
  const size_t records = merge(horizon);
  finish_batch();
  for (Ring* ring : active_) {
    give_room(*ring);
    if (ring->has_ended && ring->tail == ring->limit) set_free(*ring);
  }
  std::erase_if(active_, [](const Ring* ring) { return !ring->active; });
  statistics_.records += records;
  return records;
}

void RingReader::find_rings() {
  const uint32_t told = taken_once(exchange_.control().rings);
  // If a program has made it smaller, rings above may be in use.
  const uint32_t count =
      told < std::max(known_rings_, 1U) ? most_rings : std::min(told, most_rings);
  known_rings_ = std::max(known_rings_, std::min(told, most_rings));
  for (uint32_t first = 0; first < count; first += 64)
    for (uint64_t fresh = taken_once(exchange_.taken(first / 64)) & ~known_[first / 64]; fresh != 0;
         fresh &= fresh - 1)
      find_ring(first + static_cast<uint32_t>(std::countr_zero(fresh)));
}

void RingReader::find_ring(uint32_t index) {
  RingHead& head = exchange_.head(index);
  const uint32_t state = taken_once(head.state);
  if (state != state_owned && state != state_ended) return;
  const uint32_t process = taken_once(head.process);
  if (process >= most_processes || !owners_[process].space) return;
  if (index >= rings_.size()) rings_.resize(index + 1);
  if (!rings_[index]) rings_[index] = std::make_unique<Ring>();
  Ring& ring = *rings_[index];
  ring.index = index;
  ring.bytes = bytes_of_ring(index);
  ring.process = process;
  ring.space = owners_[process].space.index;
  ring.active = true;
  ++owners_[process].rings;
  ring.memory = exchange_.ring(index);
  ring.mean = 0;
  ring.chain.begin(stacks_.root(owners_[process].space));
  ring.teller.ring = index;
  if (events_ != nullptr)
    events_->begin(ring.teller, owners_[process].space, owners_[process].pid,
                   taken_once(head.thread));
  known_[index / 64] |= uint64_t{1} << index % 64;
  active_.push_back(&ring);
}

// How far it has come. Its state is read first: if it has ended, nothing comes after that.
void RingReader::look_at(Ring& ring) {
  const RingHead& head = exchange_.head(ring.index);
  ring.has_ended = taken_once(head.state) == state_ended;
  ring.limit = taken_once(head.head);
  if (ring.limit - ring.tail > ring.bytes || (ring.limit & 7) != 0) damage(ring);
  if (ring.is_damaged) ring.tail = ring.limit;
  if (peek(ring)) ready_.push_back(&ring);
}

// Finds the next record, if a whole one is there.
bool RingReader::peek(Ring& ring) {
  while (ring.tail != ring.limit) {
    const uint64_t offset = ring.tail & (ring.bytes - 1);
    const uint64_t room = std::min(ring.limit - ring.tail, ring.bytes - offset);
    const Kind kind = kind_of(taken_once(ring.memory[offset / 8]));
    if (kind == kind_pad && ring.bytes - offset <= ring.limit - ring.tail) {
      ring.tail += ring.bytes - offset;
      continue;
    }
    if (kind == kind_pad || kind >= kind_count || room < 16 || (has_stack(kind) && room < 24) ||
        (kind == kind_code && room < uint64_t{code_words} * 8)) {
      damage(ring);
      return false;
    }
    ring.time = taken_once(ring.memory[offset / 8 + 1]);
    return true;
  }
  return false;
}

void RingReader::damage(Ring& ring) {
  if (!ring.is_damaged) ++statistics_.damaged;
  ring.is_damaged = true;
  ring.tail = ring.limit;
}

void RingReader::set_free(Ring& ring) {
  RingHead& head = exchange_.head(ring.index);
  if (saves_memory_ && ring.is_large()) exchange_.give_back(ring.index, 0, ring.bytes);
  ring.active = false;
  ring.is_damaged = ring.has_ended = false;
  ring.tail = ring.limit = ring.told = 0;
  ring.freed_address = 0;
  if (events_ != nullptr) events_->end(ring.teller);
  publish(head.head, uint64_t{0});
  publish(head.tail, uint64_t{0});
  publish(head.state, uint32_t{state_free});
  const uint64_t bit = uint64_t{1} << ring.index % 64;
  known_[ring.index / 64] &= ~bit;
  std::atomic_ref(exchange_.taken(ring.index / 64)).fetch_and(~bit);
}

// A program that has written over it would make its thread wait for ever.
void RingReader::publish_tail(Ring& ring, uint64_t read) {
  uint64_t& told = exchange_.head(ring.index).tail;
  if (ring.told != read || taken_once(told) != read) publish(told, read);
  ring.told = read;
}

// With little memory, whole pages only, and before the owner learns that it may write there.
void RingReader::give_room(Ring& ring) {
  if (!saves_memory_ || !ring.is_large() || ring.is_damaged) return publish_tail(ring, ring.tail);
  const uint64_t read = std::max(ring.tail - ring.tail % page, ring.told);
  if (read != ring.told)
    exchange_.give_back(ring.index,
                        std::max(ring.told, read - std::min(read, uint64_t{ring.bytes})), read);
  publish_tail(ring, read);
}

// Takes the records of all rings by time. A ring is left only when another one's record is older,
// so a thread that allocates alone costs no merging.
size_t RingReader::merge(uint64_t horizon) {
  const auto younger = [](const Ring* a, const Ring* b) { return later(a->time, b->time); };
  std::make_heap(ready_.begin(), ready_.end(), younger);
  size_t records = 0;
  while (!ready_.empty()) {
    std::pop_heap(ready_.begin(), ready_.end(), younger);
    Ring& ring = *ready_.back();
    ready_.pop_back();
    const uint64_t until = ready_.empty() ? horizon : std::min(horizon, ready_.front()->time);
    if (ring.time > horizon) return records;
    bool more = true;
    while (more && ring.time <= until) {
      decode(ring);
      ++records;
      more = peek(ring);
    }
    if (more) {
      ready_.push_back(&ring);
      std::push_heap(ready_.begin(), ready_.end(), younger);
    }
  }
  return records;
}

// A time that no clock gave becomes the nearest that one can have given.
uint64_t RingReader::possible_time(const Ring& ring) const {
  return std::max(std::min(ring.time, latest_ticks_), owners_[ring.process].began);
}

// A thread cannot have lost more records than it had time for.
bool RingReader::is_possible_gap(const Ring& ring, uint64_t records) const {
  return records <= (now_ticks() - owners_[ring.process].began) / ticks_of_a_record;
}

// Takes the record that peek() has found.
void RingReader::decode(Ring& ring) {
  const uint64_t offset = ring.tail & (ring.bytes - 1);
  const uint64_t* words = ring.memory + offset / 8;
  const uint64_t first = taken_once(words[0]);
  Event event;
  event.ring = &ring;
  event.kind = kind_of(first);
  event.pointer = first & pointer_mask;
  event.ticks = possible_time(ring);
  uint64_t length = 16;
  if (has_stack(event.kind)) {
    const uint64_t room = std::min(ring.limit - ring.tail, ring.bytes - offset);
    const Alloc alloc = alloc_of(first, event.ticks, taken_once(words[2]));
    length = 24 + uint64_t{alloc.pushed} * 8;
    if (room < length || alloc.kept > ring.chain.depth() ||
        alloc.kept + alloc.pushed > most_frames || alloc.stop >= bpf::stop_count ||
        alloc.function >= function_count || alloc.pointer + alloc.size > end_of_user_space)
      return damage(ring);
    decode_stack(ring, event, alloc, words + 3);
    stacks_.prefetch(event.key);
  } else if (event.kind == kind_code) {
    const Code code = code_of(taken_once(words[2]), taken_once(words[3]));
    length = uint64_t{words_of(code)} * 8;
    if (std::min(ring.limit - ring.tail, ring.bytes - offset) < length ||
        code.name_bytes > bpf::max_script_name || code.file_bytes > bpf::max_script_file ||
        code.line_bytes > most_line_bytes)
      return damage(ring);
    decode_code(ring, event.pointer, code, words + code_words);
  } else if (event.kind == kind_gap) {
    if (!is_possible_gap(ring, event.pointer)) return damage(ring);
    statistics_.gaps += event.pointer;
    ring.chain.keep(0);
  } else if (event.kind == kind_mean) {
    const std::optional<uint8_t> mean = blocks_.number_of(event.pointer);
    if (!mean) return damage(ring);
    ring.mean = *mean;
  }
  ring.tail += length;
  // A process that waits for room is given it in pieces, before the round ends.
  if (ring.tail - ring.told >= ring.bytes / 4) give_room(ring);
  if (event.kind == kind_mean || event.kind == kind_code ||
      (event.kind == kind_gap && events_ == nullptr))
    return;
  blocks_.prefetch(ring.space, event.pointer);
  batch_.push_back(event);
  if (batch_.size() == batch_events || batch_words_.size() >= batch_frames) finish_batch();
}

// Whatever a process says while it is read, is only a text.
void RingReader::decode_code(Ring& ring, uint64_t address, const Code& code,
                             const uint64_t* words) {
  if (scripts_ == nullptr) return;
  if (!function_) function_ = std::make_unique<bpf::script_code_record>();
  bpf::script_code_record& record = *function_;
  record.space = ring.space;
  record.code = address;
  record.language = bpf::language_python;
  record.first_line = code.first_line;
  record.name = {.bytes = code.name_bytes, .form = code.name_form};
  record.file = {.bytes = code.file_bytes, .form = code.file_form};
  record.line_bytes = code.line_bytes;
  std::memcpy(record.name_text, words, code.name_bytes);
  words += words_of(code.name_bytes);
  std::memcpy(record.file_text, words, code.file_bytes);
  words += words_of(code.file_bytes);
  std::memcpy(record.lines, words, code.line_bytes);
  scripts_->take(record, sizeof(record));
}

// A frame's word as StackTree has it.
uint64_t RingReader::place_of(const Ring& ring, uint64_t word) {
  if ((word & exact_bit) == 0 && bpf::script_language(word) == bpf::language_python &&
      scripts_ != nullptr) {
    places_.clear();
    scripts_->place(SpaceId{ring.space}, word, places_);
    return places_.empty() ? StackTree::no_frame : places_.front().addr;
  }
  return word & (exact_bit | pointer_mask);
}

// What stands for a frame in the stack's key: the address, and which code is there.
uint64_t RingReader::hashed(const Ring& ring, uint64_t word) const {
  const std::vector<LaterCode>& later = owners_[ring.process].later;
  if (later.empty() || is_script({word, false})) return word;
  const uint64_t address = word & pointer_mask;
  return word ^ turn_at(later, (word & exact_bit) != 0 ? address : address - 1);
}

void RingReader::decode_stack(Ring& ring, Event& event, const Alloc& alloc, const uint64_t* words) {
  event.size = alloc.size;
  event.kept = alloc.kept;
  event.pushed = alloc.pushed;
  event.stop = static_cast<uint8_t>(alloc.stop);
  event.function = alloc.function;
  event.mean = ring.mean;
  event.first_word = static_cast<uint32_t>(batch_words_.size());
  batch_words_.resize(batch_words_.size() + alloc.pushed);
  uint64_t* to = batch_words_.data() + event.first_word;
  ring.chain.keep(alloc.kept);
  for (uint32_t i = alloc.pushed; i-- > 0;) {  // the ring has the leaf first
    const uint64_t word = place_of(ring, taken_once(words[i]));
    *to++ = word;
    ring.chain.push(hashed(ring, word));
  }
  if (event.pointer == 0) return;  // frames of the stack that the next record tells
  event.key = StackTree::key(ring.chain.hash(), alloc.function, alloc.stop);
  ++statistics_.stacks;
  if (event.kind == kind_free_at) ++statistics_.free_stacks;
  statistics_.frames += ring.chain.depth() + 1;
  ++statistics_.stops[alloc.stop];
}

void RingReader::finish_batch() {
  for (Event& event : batch_)
    if (has_stack(event.kind)) intern(event);
  for (const Event& event : batch_) apply(event);
  batch_.clear();
  batch_words_.clear();
}

void RingReader::intern(Event& event) {
  Ring& ring = *event.ring;
  if (ring.words.size() < event.kept + event.pushed) ring.words.resize(event.kept + event.pushed);
  std::copy_n(batch_words_.begin() + event.first_word, event.pushed,
              ring.words.begin() + event.kept);
  if (event.pointer == 0) return;
  event.stack = stacks_.find(event.key);
  if (event.stack != 0) return;
  StackTree::Stack stack;
  stack.leaf =
      event.function < fn_python_malloc
          ? owners_[ring.process].functions.at(event.function)
          // The agent finds them later.
          : taken_once(exchange_.process(ring.process).functions[event.function]) & pointer_mask;
  stack.time_ns = round_ns_;
  stack.space = ring.space;
  stack.stop = event.stop;
  event.stack =
      stacks_.add(event.key, std::span(ring.words).first(event.kept + event.pushed), stack);
}

LiveEntry RingReader::block_of(const Event& event) {
  return {.address = event.pointer,
          .ticks = event.ticks,
          .size = event.size & size_mask,
          .mean = event.mean,
          .space = event.ring->space,
          .stack = event.stack};
}

void RingReader::apply(const Event& event) {
  Ring& ring = *event.ring;
  if (event.pointer == 0) return;
  if (events_ != nullptr) return tell(event);
  if (event.kind == kind_alloc) {
    blocks_.allocate(block_of(event), ring.index);
  } else if (is_free(event.kind)) {
    ring.freed = blocks_.free(ring.space, event.pointer, event.ticks, ring.index);
    ring.freed_address = event.pointer;
  } else if (event.kind == kind_restore && ring.freed_address == event.pointer) {
    blocks_.restore(ring.freed);
    ring.freed_address = 0;
  }
}

void RingReader::tell(const Event& event) {
  Ring& ring = *event.ring;
  if (event.kind == kind_alloc)
    events_->allocate(ring.teller, block_of(event), reallocates(event.function));
  else if (is_free(event.kind))
    events_->free(ring.teller, {.space = ring.space,
                                .address = event.pointer,
                                .ticks = event.ticks,
                                .stack = event.stack,
                                .leaves = event.kind == kind_leave});
  else if (event.kind == kind_restore)
    events_->restore(ring.teller, event.pointer, event.ticks);
  else if (event.kind == kind_gap)
    events_->lose(ring.teller, event.pointer, event.ticks);
}

}  // namespace memflame::inside
