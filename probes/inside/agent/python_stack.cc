// SPDX-License-Identifier: BSD-2-Clause
#include "python_stack.h"

#include "stack_memory.h"
#include "stops.h"
#include "sys.h"

namespace memflame::bpf {
namespace {

// NOLINTBEGIN(cppcoreguidelines-macro-usage): what frames.bpf.h asks for
long read_far(void* to, u64 size, u64 address) {
  auto* at = static_cast<u8*>(to);
  constexpr u64 most = sizeof(inside::Thread::window);
  for (; size > 0; at += most, address += most, size -= most) {
    const u64 bytes = size < most ? size : most;
    if (!inside::read_copied(*inside::self, address, at, bytes)) return -1;
    if (size <= most) break;
  }
  return 0;
}

inline long read_script(void* to, u64 size, u64 address) {
  if (MEMFLAME_UNLIKELY(inside::self->functions->reads_directly == 0))
    return read_far(to, size, address);
  __builtin_memcpy(to, reinterpret_cast<const void*>(address), size);
  return 0;
}
#define SCRIPT_READ(to, size, address) read_script(to, size, address)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wconversion"
#include "probes/languages/python/frames.bpf.h"
#pragma GCC diagnostic pop
// NOLINTEND(cppcoreguidelines-macro-usage)

}  // namespace
}  // namespace memflame::bpf

namespace memflame::inside {
namespace {

constexpr bpf::language language = bpf::language_python;

BlockSet codes() { return {here->code_cells, here->code_places}; }

bool is_in(const BlockSet& set, uint64_t address) {
  if (count_in(set, cell_of(address)) == 0) return false;
  const uint64_t* const bucket = bucket_of(set, address);
  for (uint32_t i = 0; i < bucket_places; ++i)
    if (load(bucket[i]) == address) return true;
  return false;
}

uint64_t address_of(const void* state) { return reinterpret_cast<uint64_t>(state); }

// The state of this thread in the interpreter; 0 = it has none that can be read.
uint64_t state_of(Thread& thread) {
  const void* const own = python.of_thread();
  const void* const current = python.current();
  // In 3.11 the current state is that of whichever thread holds the lock.
  const bool holds_lock =
      python.minor == 11 ? own != nullptr && current == own : current != nullptr;
  thread.functions->reads_directly = holds_lock;
  if (holds_lock) return address_of(current);
  return python.is_initialized() != 0 ? address_of(own) : 0;
}

void read_functions(Thread& thread) {
  bpf::script_chain& chain = thread.functions->chain;
  chain.count = chain.next = chain.run = chain.filled = 0;
  chain.frame = chain.state = chain.record = chain.below = chain.anchor = chain.window_at = 0;
  chain.end = bpf::script_none;
  thread.window_bytes = 0;
  const uint64_t state = state_of(thread);
  if (state == 0 || bpf::begin_python(&chain, &python.layout, state) == 0) return;
  while (bpf::take_python_frames(&chain, &python.layout) != 0) {
  }
}

// Puts together what is told, leaf first.
class Merging {
 public:
  Merging(Functions& functions, uint32_t most) : functions_(functions), most_(most) {}

  bool is_full() const { return count_ == most_; }
  uint32_t count() const { return count_; }
  void put(uint64_t word) {
    if (!is_full()) functions_.merged[count_++] = word;
  }
  // A native frame, which has the stack between these addresses.
  void put_native(uint64_t word, uint64_t sp, uint64_t end) {
    bpf::script_chain& chain = functions_.chain;
    if (chain.next < chain.count && chain.items[chain.next] - sp < end - sp) {
      ++chain.next;
      for (; chain.next < chain.count && is_function(chain.items[chain.next]); ++chain.next)
        put(chain.items[chain.next]);
    }
    put(word);
  }
  // Marks a stack in which functions are missing.
  void mark(uint32_t stop) {
    const bpf::script_chain& chain = functions_.chain;
    const bool broken = chain.end == bpf::script_unreadable || chain.end == bpf::script_too_long;
    const bool left = chain.next < chain.count && chain.items[chain.next] != 0;
    if (!broken && (stop != stop_end || !left)) return;
    add(here->process->scripts_unread, 1);
    put(bpf::script_word(language, 0, chain.end));
  }

 private:
  static bool is_function(uint64_t word) {
    return bpf::script_language(word) != bpf::language_none;
  }

  Functions& functions_;
  uint32_t most_, count_ = 0;
};

uint64_t native_word(uint64_t ip, bool is_exact) { return ip | (is_exact ? exact_bit : 0); }

// All words, and whether the stack ends as the walk did.
uint32_t merge(Thread& thread, const Walk& walk, uint32_t most, uint32_t& stop) {
  Merging merging(*thread.functions, most);
  const uint32_t all = walk.fresh_frames + walk.kept_frames;
  const auto sp_of = [&](uint32_t i) {
    return i < walk.fresh_frames ? thread.fresh[i].sp : thread.kept[all - 1 - i].sp;
  };
  for (uint32_t i = 0; i < all; ++i) {
    const uint64_t sp = sp_of(i);
    const uint64_t end = i + 1 < all ? sp_of(i + 1) : sp;
    const uint64_t word =
        i < walk.fresh_frames
            ? native_word(thread.fresh[i].ip, thread.fresh[i].is_exact != 0)
            : native_word(thread.kept[all - 1 - i].ip, thread.kept[all - 1 - i].is_exact != 0);
    if (merging.is_full()) {
      stop = stop_too_deep;
      return merging.count();
    }
    merging.put_native(word, sp, end);
  }
  merging.mark(stop);
  return merging.count();
}

void tell_code(Thread& thread, uint64_t word) {
  const uint64_t address = bpf::script_code(word);
  if (bpf::script_language(word) != language || address == 0 || is_in(codes(), address)) return;
  bpf::script_code_record& code = thread.functions->code;
  if (bpf::read_python_code(&python.layout, address, &code) == 0)
    code.name.bytes = code.file.bytes = 0;
  if (!record_code(thread, address, code)) return;
  if (!put_in(codes(), address)) store(here->untold_codes, 1U);
}

}  // namespace

bool takes_functions(Thread& thread) {
  if (MEMFLAME_LIKELY(load(python.tells) == 0)) return false;
  if (MEMFLAME_UNLIKELY(thread.functions == nullptr))
    thread.functions = static_cast<Functions*>(private_memory(sizeof(Functions)));
  return thread.functions != nullptr;
}

ToldStack place_functions(Thread& thread, const Walk& walk, uint32_t most) {
  read_functions(thread);
  Functions& functions = *thread.functions;
  ToldStack stack;
  stack.stop = walk.stop;
  const uint32_t count = merge(thread, walk, most < most_frames ? most : most_frames, stack.stop);
  const uint32_t generation = load(here->code_generation);
  if (functions.told_generation != generation || load(here->untold_codes) != 0)
    thread.told_count = 0;
  functions.told_generation = generation;
  if (stack.stop == stop_end)
    while (stack.kept < thread.told_count && stack.kept < count &&
           functions.told[stack.kept] == functions.merged[count - 1 - stack.kept])
      ++stack.kept;
  stack.fresh = count - stack.kept;
  for (uint32_t i = 0; i < stack.fresh; ++i) tell_code(thread, functions.merged[i]);
  return stack;
}

void keep_told(Thread& thread, const ToldStack& stack) {
  Functions& functions = *thread.functions;
  thread.told_count = 0;
  if (stack.stop != stop_end) return;
  const uint32_t count = stack.kept + stack.fresh;
  for (uint32_t i = stack.kept; i < count; ++i) functions.told[i] = functions.merged[count - 1 - i];
  thread.told_count = count;
}

void forget_code(uint64_t address) {
  if (load(here->phase) == phase_new || !take_from(codes(), address)) return;
  add(here->code_generation, 1U);
}

}  // namespace memflame::inside
