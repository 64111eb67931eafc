// SPDX-License-Identifier: BSD-2-Clause
// Writes the records of a thread into its ring. The head is published with each record, so nothing
// that was published is lost when the process is killed.
#include "filter.h"
#include "python_stack.h"
#include "sampling.h"
#include "stops.h"
#include "sys.h"
#include "walk.h"

namespace memflame::inside {
namespace {

constexpr uint32_t word_bytes = sizeof(uint64_t);
// How long a thread naps that waits for room: the first time and, with memflame short of processor
// time, at most.
constexpr uint32_t first_nap_us = 50, most_nap_us = 400;
constexpr uint32_t rings_of_a_crowd = 32;

bool has_room(Thread& thread, uint64_t bytes) {
  thread.tail = load_acquire(thread.head->tail);
  return thread.written + bytes - thread.tail <= thread.ring_bytes;
}

// What the program may have written over: a ring that memflame takes for free, or for another
// process's, or that has no end, would keep its thread waiting for ever.
void restore_head(Thread& thread) {
  RingHead& head = *thread.head;
  if (load(here->control->reading) != thread.run) return;
  store_release(head.head, thread.written);
  if (load(head.process) == here->index && load(head.state) == state_owned) return;
  store(head.process, here->index);
  __atomic_fetch_or(&here->taken[thread.ring / 64], uint64_t{1} << thread.ring % 64,
                    __ATOMIC_ACQUIRE);
  store_release(head.state, static_cast<uint32_t>(state_owned));
}

// Waits until `bytes` are free in the ring, and then until half of it is, as each nap costs some
// microseconds of processor time. False if memflame does not read, or not fast enough.
bool make_room(Thread& thread, uint64_t bytes, Patience patience) {
  if (has_room(thread, bytes)) return true;
  // Thousands of threads that woke this often would leave memflame no processor.
  const uint32_t crowd = 1 + load(here->control->rings) / rings_of_a_crowd;
  uint32_t nap_us = first_nap_us * crowd;
  while (load(here->control->reading) != 0 && wait_a_little(nap_us, patience)) {
    restore_head(thread);
    if (has_room(thread, bytes > thread.ring_bytes / 2 ? bytes : thread.ring_bytes / 2))
      return true;
    if (nap_us < most_nap_us * crowd) nap_us *= 2;
  }
  return has_room(thread, bytes);
}

// Room for that many words in a row; null if there is none.
uint64_t* reserve(Thread& thread, uint32_t words, Patience patience) {
  const uint64_t offset = thread.written & (thread.ring_bytes - 1);
  const uint64_t left = thread.ring_bytes - offset, bytes = uint64_t{words} * word_bytes;
  const uint64_t needed = bytes <= left ? bytes : left + bytes;
  if (MEMFLAME_UNLIKELY(thread.written + needed - thread.tail > thread.ring_bytes) &&
      !make_room(thread, needed, patience))
    return nullptr;
  if (MEMFLAME_UNLIKELY(bytes > left)) {
    *reinterpret_cast<uint64_t*>(thread.records + offset) = word0(0, kind_pad);
    thread.written += left;
  }
  return reinterpret_cast<uint64_t*>(thread.records + (thread.written & (thread.ring_bytes - 1)));
}

void publish(Thread& thread, uint32_t words) {
  thread.written += uint64_t{words} * word_bytes;
  store_release(thread.head->head, thread.written);
}

bool say(Thread& thread, Kind kind, uint64_t number, Patience patience) {
  uint64_t* const to = reserve(thread, 2, patience);
  if (to == nullptr) return false;
  to[0] = word0(number, kind);
  to[1] = ticks();
  publish(thread, 2);
  return true;
}

// Says how many records were lost, as soon as there is room again, and before an allocation, by
// which mean it was sampled. False if there is no room.
bool say_before_slowly(Thread& thread, Kind kind, Patience patience) {
  if (const uint64_t lost = thread.lost & ~mean_untold; lost != 0) {
    forget_stack(thread);  // the reader has not seen what the next stack would be told by
    if (!say(thread, kind_gap, lost, patience)) return false;
    thread.lost &= mean_untold;
  }
  if (kind != kind_alloc || thread.lost == 0) return true;
  if (!say(thread, kind_mean, chosen_mean, patience)) return false;
  thread.told_mean = chosen_mean;
  thread.lost = 0;
  return true;
}
inline bool say_before(Thread& thread, Kind kind, Patience patience) {
  return MEMFLAME_LIKELY(thread.lost == 0) || say_before_slowly(thread, kind, patience);
}

void write_short(Thread& thread, Kind kind, const void* pointer) {
  constexpr Patience patience = Patience::unlimited;
  uint64_t* const to = say_before(thread, kind, patience) ? reserve(thread, 2, patience) : nullptr;
  if (MEMFLAME_UNLIKELY(to == nullptr)) return;  // memflame reads no more
  to[0] = word0(reinterpret_cast<uint64_t>(pointer), kind);
  // Not earlier than the load that brought the pointer: another thread may have just allocated it.
  to[1] = ticks_after();
  publish(thread, 2);
}

#ifdef MEMFLAME_AGENT_CHECKS
// For tests: walks each stack a second time, in full, and compares.
void check(Thread& thread, const Caller& caller, const Walk& found) {
  static __thread Thread* other __attribute__((tls_model("initial-exec")));
  if (other == nullptr) other = static_cast<Thread*>(private_memory(sizeof(Thread)));
  if (other == nullptr) return;
  other->frame_count = 0;
  const Walk full = walk(*other, caller, here->control->max_depth);
  bool same =
      full.stop == found.stop && full.fresh_frames == found.kept_frames + found.fresh_frames;
  for (uint32_t i = 0; same && i < full.fresh_frames; ++i) {
    const uint32_t from_root = full.fresh_frames - 1 - i;
    const uint64_t ip = i < found.fresh_frames ? thread.fresh[i].ip : thread.kept[from_root].ip;
    same = ip == other->fresh[i].ip;
  }
  add(here->process->checked, 1);
  if (!same) add(here->process->differing, 1);
}
#else
void check(Thread&, const Caller&, const Walk&) {}
#endif

// What kind_alloc and kind_free_at have besides the stack.
struct Stacked {
  Kind kind;
  const void* pointer;
  uint64_t time;  // 0: when there is room, not earlier than the load that brought the pointer
  size_t size;
  Function function;
};

// Room for a record with this many frames, which it begins; null if there is none.
uint64_t* begin_stacked(Thread& thread, const Stacked& record, const ToldStack& stack,
                        Patience patience) {
  uint64_t* const to = reserve(thread, 3 + stack.fresh, patience);
  if (MEMFLAME_UNLIKELY(to == nullptr)) return nullptr;
  to[0] = word0(reinterpret_cast<uint64_t>(record.pointer), record.kind, stack.kept);
  to[1] = record.time != 0 ? record.time : ticks_after();
  to[2] = word2(record.size, stack.fresh, stack.stop, record.function);
  return to + 3;
}

// What does not fit into one record is told before, from the outermost frames on, and counts as
// kept then. word_of(i): of the fresh frame i, leaf first. False if there was no room.
template <class WordOf>
[[gnu::noinline]] bool write_outer_frames(Thread& thread, Stacked record, ToldStack& stack,
                                          uint32_t most, const WordOf& word_of, Patience patience) {
  record.pointer = nullptr;
  ToldStack part = stack;
  for (part.fresh = most; stack.fresh > most; part.kept = stack.kept) {
    stack.fresh -= most;
    stack.kept += most;
    uint64_t* const to = begin_stacked(thread, record, part, patience);
    if (to == nullptr) return false;
    for (uint32_t i = 0; i < most; ++i) to[i] = word_of(stack.fresh + i);
    publish(thread, 3 + most);
  }
  return true;
}

template <class WordOf>
inline bool write_frames(Thread& thread, const Stacked& record, ToldStack stack,
                         const WordOf& word_of, Patience patience) {
  const uint32_t most = most_record_bytes(thread.ring_bytes) / word_bytes - 3;
  if (MEMFLAME_UNLIKELY(stack.fresh > most) &&
      !write_outer_frames(thread, record, stack, most, word_of, patience))
    return false;
  uint64_t* const to = begin_stacked(thread, record, stack, patience);
  if (MEMFLAME_UNLIKELY(to == nullptr)) return false;
  for (uint32_t i = 0; i < stack.fresh; ++i) to[i] = word_of(i);
  publish(thread, 3 + stack.fresh);
  return true;
}

bool write_with_functions(Thread& thread, Stacked record, const Walk& found, Patience patience) {
  const ToldStack stack = place_functions(thread, found, here->control->max_depth);
  const auto word_of = [&](uint32_t i) { return thread.functions->merged[i]; };
  if (!write_frames(thread, record, stack, word_of, patience)) return false;
  keep(thread, found);
  keep_told(thread, stack);
  return true;
}

// False if there was no room.
bool write_stacked(Thread& thread, const Stacked& record, const Caller& caller, Patience patience) {
  if (const bool has_functions = takes_functions(thread);
      MEMFLAME_UNLIKELY(has_functions != (thread.has_functions != 0))) {
    forget_stack(thread);
    thread.has_functions = has_functions;
  }
  const Walk found = walk(thread, caller, here->control->max_depth);
  check(thread, caller, found);
  if (thread.has_functions != 0) return write_with_functions(thread, record, found, patience);
  const ToldStack stack{found.kept_frames, found.fresh_frames, found.stop};
  const auto word_of = [&](uint32_t i) {
    return thread.fresh[i].ip | (thread.fresh[i].is_exact != 0 ? exact_bit : 0);
  };
  if (!write_frames(thread, record, stack, word_of, patience)) return false;
  keep(thread, found);
  return true;
}

}  // namespace

bool record_code(Thread& thread, uint64_t address, const bpf::script_code_record& code) {
  // Both together find room in a small ring, and no letter of theirs is cut in two.
  constexpr uint32_t most_name = 256, most_file = 640;
  const bool is_small = thread.ring_bytes == small_ring_bytes;
  const auto at_most = [&](uint32_t bytes, uint32_t most) {
    return is_small && bytes > most ? most : bytes;
  };
  Code told{.first_line = code.first_line,
            .line_bytes = code.line_bytes <= most_line_bytes ? code.line_bytes : 0,
            .name_bytes = at_most(code.name.bytes, most_name),
            .file_bytes = at_most(code.file.bytes, most_file),
            .name_form = code.name.form,
            .file_form = code.file.form};
  if (words_of(told) * word_bytes > most_record_bytes(thread.ring_bytes)) {
    told.line_bytes = 0;
    add(here->process->scripts_unread, 1);
  }
  const uint32_t words = words_of(told);
  uint64_t* to = reserve(thread, words, Patience::unlimited);
  if (to == nullptr) return false;
  to[0] = word0(address, kind_code);
  to[1] = ticks();
  to[2] = code_word2(told);
  to[3] = code_word3(told);
  to += code_words;
  __builtin_memcpy(to, code.name_text, told.name_bytes);
  to += words_of(told.name_bytes);
  __builtin_memcpy(to, code.file_text, told.file_bytes);
  to += words_of(told.file_bytes);
  __builtin_memcpy(to, code.lines, told.line_bytes);
  publish(thread, words);
  return true;
}

void record_alloc(Thread* thread, void* pointer, size_t size, Function function,
                  const Caller& caller) {
  store(thread->phase, phase_recording);
  // May be early by the time that the last loads of the real function take: those of a lock, behind
  // which the block's last free was stamped.
  const uint64_t time = ticks();
  const bool is_written = say_before(*thread, kind_alloc, Patience::within_limit) &&
                          write_stacked(*thread, {kind_alloc, pointer, time, size, function},
                                        caller, Patience::within_limit);
  note_block(reinterpret_cast<uint64_t>(pointer), is_written, time);
  if (MEMFLAME_UNLIKELY(!is_written) && load(here->control->reading) != 0) {
    ++thread->lost;
    add(here->process->lost, 1);
    add(here->process->lost_bytes, size);
  }
  store(thread->phase, phase_idle);
}

void record_free(Thread* thread, void* pointer, Kind kind, Function function,
                 const Caller& caller) {
  store(thread->phase, phase_recording);
  constexpr Patience patience = Patience::unlimited;
  // What follows a kind_leave has the stack.
  if (MEMFLAME_LIKELY(load(here->control->free_stacks) == 0) || kind != kind_free)
    write_short(*thread, kind, pointer);
  else if (say_before(*thread, kind_free_at, patience))
    write_stacked(*thread, {kind_free_at, pointer, 0, 0, function}, caller, patience);
  store(thread->phase, phase_idle);
}

void record_restore(Thread* thread, void* pointer) {
  store(thread->phase, phase_recording);
  write_short(*thread, kind_restore, pointer);
  store(thread->phase, phase_idle);
}

}  // namespace memflame::inside
