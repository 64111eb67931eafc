// SPDX-License-Identifier: BSD-2-Clause
#include "walk.h"

#include "rules.h"
#include "stack_memory.h"
#include "stops.h"
#include "unloads.h"

namespace memflame::inside {
namespace {

using unwind::row;

struct Reading;
// Inline, as the number of words is known where it is called.
__attribute__((always_inline)) inline long read_stack(Reading* reading, void* to, uint64_t size,
                                                      uint64_t address);

// NOLINTBEGIN(cppcoreguidelines-macro-usage,google-build-using-namespace): what step.h asks for
using namespace unwind;
#define UNWIND_READ(frame, to, size, address) \
  read_stack(reinterpret_cast<Reading*>(frame), to, size, address)
#define UNWIND_RETURN(frame, slot, value) (value)
#define ALWAYS_INLINE static inline
#include "probes/unwind/step.h"
// NOLINTEND(cppcoreguidelines-macro-usage,google-build-using-namespace)

struct Reading {
  frame at;  // first, as step.h knows only this
  Thread* thread;
  uint64_t low, high;  // what can be read directly
  FreshFrame* fresh;   // the frame whose caller is being looked for
};

inline long read_stack(Reading* reading, void* to, uint64_t size, uint64_t address) {
  auto* const words = static_cast<uint64_t*>(to);
  const uint64_t count = size / sizeof(uint64_t);
  if (MEMFLAME_LIKELY(address >= reading->low && address < reading->high &&
                      size <= reading->high - address && address % sizeof(uint64_t) == 0)) {
    const auto* const memory = reinterpret_cast<const uint64_t*>(address);
    for (uint64_t i = 0; i < count; ++i) words[i] = memory[i];
  } else {
    if (!read_copied(*reading->thread, address, to, size)) return -1;
    reading->fresh->is_copied = 1;
  }
  FreshFrame& fresh = *reading->fresh;
  for (uint64_t i = 0; i < count; ++i) {
    if (fresh.words < 4) fresh.read[fresh.words] = {address + i * sizeof(uint64_t), words[i]};
    ++fresh.words;
  }
  return 0;
}

bool uses_bp(const row& row) {
  const unsigned kind = row.kind & row_kind_mask;
  return kind == row_rbp || kind == row_deref_rbp || kind == row_fp;
}

// Which of the words that a step reads is the caller's bp, in the order of unwind_step(); -1 =
// none.
int bp_word(const row& row) {
  switch (row.kind & row_kind_mask) {
    case row_deref_rbp:
      return 1;
    case row_fp:
      return 0;
    case row_deref_rsp:
      return row.rbp == 0 ? -1 : row.rbp == 2 ? 1 : 2;
    default:
      return row.rbp == 0 ? -1 : row.rbp == 2 ? 0 : 1;
  }
}

// Steps that rest on registers or words which are not kept, or on memory that may be gone next
// time.
bool is_fragile(const FreshFrame& frame) {
  const unsigned kind = frame.row.kind & row_kind_mask;
  return kind == row_signal || kind == row_rbx || frame.words > 4 || frame.is_copied != 0;
}

// Whether the stack ends here because the return address is 0, and bp too; not because the row says
// so.
bool ends_by_words(const FreshFrame& outermost) { return outermost.words != 0; }

bool is_same(const KeptFrame& kept, const frame& at) {
  return kept.sp == at.sp && kept.ip == at.ip && (kept.needs_bp == 0 || kept.bp == at.bp) &&
         kept.is_exact == (at.exact != 0);
}

int holds(const Word& word) {
  return *reinterpret_cast<const uint64_t*>(word.address) == word.value;
}

// One more than the index of the innermost of the first `count` words that has changed; 0 if all
// hold. The loads of four words do not wait for each other.
uint64_t first_changed(const Word* words, uint64_t count) {
  while (count >= 4 && (holds(words[count - 1]) & holds(words[count - 2]) &
                        holds(words[count - 3]) & holds(words[count - 4])) != 0)
    count -= 4;
  while (count > 0 && holds(words[count - 1]) != 0) --count;
  return count;
}

// The first step, over the frame that was called, is the caller's business: a walk begins behind
// it.
void begin(Reading& reading, Thread& thread, const Caller& caller) {
  reading.at = {caller.ip, caller.sp, caller.bp, 0, bx_unknown, 0, 0, stop_too_deep};
  reading.thread = &thread;
  const bool own = is_on_own_stack(thread, caller.sp);
  reading.low = own ? caller.sp : 0;
  reading.high = own ? thread.own_high : 0;
  thread.window_bytes = 0;
  const uint64_t unloaded = unloads();
  if (MEMFLAME_UNLIKELY(unloaded != load(here->seen_unloads))) forget_unloaded(unloaded);
  follow_list();
  if (!own || thread.generation != load(here->generation)) thread.frame_count = 0;
  thread.generation = load(here->generation);
}

}  // namespace

Walk walk(Thread& thread, const Caller& caller, uint32_t most) {
  // Every watched process can write the limit.
  const uint32_t max_depth = most < most_frames ? most : most_frames;
  Walk result;
  Reading reading;
  begin(reading, thread, caller);
  uint64_t candidate = thread.frame_count;  // kept frames below this index may be met
  frame& at = reading.at;
  while (true) {
    while (candidate > 0 && thread.kept[candidate - 1].sp < at.sp) --candidate;
    if (candidate > 0 && candidate <= thread.solid && is_same(thread.kept[candidate - 1], at)) {
      const uint64_t changed = first_changed(thread.words, thread.kept[candidate - 1].words_beyond);
      if (MEMFLAME_LIKELY(changed == 0)) {
        result.kept_frames = static_cast<uint32_t>(candidate);
        at.stop = stop_end;
        break;
      }
      // Only frames beyond the word that differs may be the same.
      while (candidate > 0 && thread.kept[candidate - 1].words_beyond >= changed) --candidate;
    }
    if (result.fresh_frames == max_depth) {
      at.stop = stop_too_deep;
      break;
    }
    const FoundRule found = rule_of(row_address(&at));
    FreshFrame& fresh = thread.fresh[result.fresh_frames];
    fresh.ip = at.ip;
    fresh.sp = at.sp;
    fresh.bp = at.bp;
    fresh.row = found.row;
    fresh.words = fresh.is_copied = 0;
    reading.fresh = &fresh;
    if (found.stop != stop_end) {
      // A frame that was only guessed is trusted if it lies in known code.
      at.stop = at.guessed != 0 ? static_cast<u32>(stop_no_frame_pointer) : found.stop;
      fresh.is_exact = at.exact != 0;
      if (at.guessed == 0) ++result.fresh_frames;
      break;
    }
    fresh.is_exact = is_exact(&at, found.row) != 0;
    ++result.fresh_frames;
    if (unwind_step(&at, found.row) == 0) break;
  }
  result.stop = at.stop;
  // Frames were kept, but the whole is deeper than allowed: like any walk that is cut, it has the
  // innermost frames only.
  if (result.kept_frames + result.fresh_frames > max_depth && result.kept_frames != 0) {
    thread.frame_count = 0;
    return walk(thread, caller, max_depth);
  }
  return result;
}

void keep(Thread& thread, const Walk& walk) {
  thread.frame_count = 0;
  if (walk.stop != stop_end) return;
  thread.solid = most_frames + 1;  // what is kept was solid: otherwise it could not be met
  uint32_t count = walk.kept_frames;
  uint32_t words = count == 0 ? 0 : thread.kept[count - 1].words_beyond;
  for (uint32_t i = walk.fresh_frames; i > 0; --i) {
    const FreshFrame& fresh = thread.fresh[i - 1];
    // Whether the caller's bp matters, which this frame may have saved.
    const bool needed = count > 0 ? thread.kept[count - 1].needs_bp != 0 : ends_by_words(fresh);
    if (is_fragile(fresh)) {
      if (thread.solid > count) thread.solid = count;
    } else {
      const int bp = bp_word(fresh.row);
      for (int w = 0; w < fresh.words; ++w)
        if (w != bp || needed) {
          if (words == most_words) return;
          thread.words[words++] = fresh.read[w];
        }
    }
    KeptFrame& kept = thread.kept[count++];
    kept.ip = fresh.ip;
    kept.sp = fresh.sp;
    kept.bp = fresh.bp;
    kept.is_exact = fresh.is_exact;
    kept.words_beyond = words;
    kept.needs_bp = uses_bp(fresh.row) || (fresh.row.rbp == 0 && needed);
  }
  thread.frame_count = count;
}

}  // namespace memflame::inside
