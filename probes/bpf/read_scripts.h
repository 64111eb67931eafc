// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Reads which functions of an interpreted language the current thread runs, with what the
// languages' folders have for it: all of them in one go, or frame by frame while the walk comes to
// them.
#pragma once

#include "script_state.h"

// The thread's own block. With a call, as loading through the task is dear to verify.
ALWAYS_INLINE u64 thread_base(void) {
  return BPF_CORE_READ(bpf_get_current_task_btf(), thread.fsbase);
}

// The state that Python keeps for the current thread, among its thread-specific data: glibc has
// the first 32 keys in the thread's own block, which the register fs points to (struct pthread,
// specific_1stblock).
enum { first_specific_data = 0x310, most_specific_keys = 32 };
enum { state_unreadable = 1 };  // no address of a state is odd
ALWAYS_INLINE u64 python_state_by_key(struct interpreter* interpreter) {
  u32 key = interpreter->key;
  if (!key) {
    u32 words[2] = {};  // whether it is set, and the key
    if (bpf_probe_read_user(words, sizeof(words), (void*)interpreter->key_at))
      return state_unreadable;
    if (!words[0]) return 0;  // Python has not begun yet
    if (words[1] >= most_specific_keys) return state_unreadable;
    key = words[1] + 1;
    interpreter->key = key;
  }
  u64 state = 0;
  u64 base = thread_base();
  u64 at = base + first_specific_data + 16 * (u64)(key - 1) + 8;
  if (bpf_probe_read_user(&state, sizeof(state), (void*)at)) return state_unreadable;
  return state;
}

// Where a library has its thread-local variables for the current thread: glibc has a vector of all
// libraries' blocks in the thread's own block (tcbhead_t), 16 bytes for each. 0: not used here yet.
enum { thread_vector = 8, thread_guard = 0x30 };
static __attribute__((noinline)) u64 thread_variables(struct script_chain* chain, u64 key_at) {
  u64* words = (u64*)(chain->memory + script_window_bytes);
  u64 base = thread_base();
  if (bpf_probe_read_user(words, 16, (void*)key_at)) return state_unreadable;
  u64 number = words[0], offset = words[1];
  if (bpf_probe_read_user(words, 8, (void*)(base + thread_vector)) ||
      bpf_probe_read_user(words, 8, (void*)(words[0] + 16 * number)))
    return state_unreadable;
  return words[0] == ~0ULL || !words[0] ? 0 : words[0] + offset;
}

ALWAYS_INLINE u64 python_state(struct script_chain* chain, struct interpreter* interpreter) {
  u32 by = interpreter->python.state_by;
  if (by == python_by_key) return python_state_by_key(interpreter);
  u64 at = thread_base(), state = 0;
  if (by == python_by_block) at = thread_variables(chain, interpreter->key_at);
  if (at <= state_unreadable) return at;
  at += (u64)(s64)interpreter->python.state_offset;
  return bpf_probe_read_user(&state, sizeof(state), (void*)at) ? state_unreadable : state;
}

// Ruby has the state of the current thread or fiber in such a variable.
static __attribute__((noinline)) int begin_ruby_thread(struct script_chain* chain,
                                                       struct interpreter* interpreter) {
  u64* words = (u64*)(chain->memory + script_window_bytes);
  u64 base = thread_base();
  u64 at = thread_variables(chain, interpreter->key_at);
  if (!at) return end_script(chain, script_none);
  chain->end = script_unreadable;
  if (at == state_unreadable || bpf_probe_read_user(words, 8, (void*)at) ||
      bpf_probe_read_user(words + 1, 8, (void*)(base + thread_guard)))
    return 0;
  return begin_ruby(chain, &interpreter->ruby, interpreter->base, words[0], words[1]);
}

struct reading_scripts {
  struct script_chain* chain;
  struct interpreter* interpreter;
};

static int take_ruby(u32 turn, struct reading_scripts* reading) {
  return turn_ends(!take_ruby_frames(reading->chain, &reading->interpreter->ruby));
}

static int take_script(u32 turn, struct reading_scripts* reading) {
  return turn_ends(!take_python_frames(reading->chain, &reading->interpreter->python));
}

static int take_php(u32 turn, struct reading_scripts* reading) {
  return turn_ends(!take_php_frame(reading->chain));
}

static __attribute__((noinline)) int read_php(struct script_chain* chain,
                                              struct interpreter* interpreter) {
  struct reading_scripts reading = {chain, interpreter};
  if (!begin_php(chain, &interpreter->php, interpreter->base, interpreter->key_at)) return 0;
  bpf_loop(max_php_frames, take_php, &reading, 0);
  if (chain->end == script_none) drop_php(chain);
  return 0;
}

// Reads what the current thread runs into the chain of a scratch.
__attribute__((noinline)) int read_scripts(u32 number, u32 code) {
  struct scratch* scratch = scratch_at(number);
  struct interpreter* interpreter = bpf_map_lookup_elem(&interpreters, &code);
  if (!scratch || !interpreter) return 0;
  struct script_chain* chain = &scratch->chain;
  chain->freed = interpreter->freed;
  chain->language = interpreter->language;
  chain->slot = code;
  chain->memos.life = script_life(interpreter, scratch->stack.space);
  struct reading_scripts reading = {chain, interpreter};
  chain->filled = 0;
  if (interpreter->language == language_ruby) {
    if (!begin_ruby_thread(chain, interpreter)) return 0;
    bpf_loop(max_script_items + 1, take_ruby, &reading, 0);
    if (chain->end == script_none) drop_ruby(chain);
    return 0;
  }
  if (interpreter->language == language_php) return read_php(chain, interpreter);
  if (interpreter->language != language_python) return 0;
  chain->anchor = 0;
  chain->record = 0;
  if (!begin_python(chain, &interpreter->python, python_state(chain, interpreter))) return 0;
  bpf_loop(max_script_items + 1, take_script, &reading, 0);
  return 0;
}

// What read_v8_frame() needs of a frame's words.
ALWAYS_INLINE long read_v8_words(struct walk* walk, u64* to, u64 address) {
  u32 at = in_window(walk, address, v8_frame_words * sizeof(u64));
  if (at == window_unreadable) return -14;
  if (at > window_bytes - v8_frame_words * sizeof(u64))
    return bpf_probe_read_user(to, v8_frame_words * sizeof(u64), (void*)address);
  for (int i = 0; i < v8_frame_words; ++i) to[i] = *(u64*)(walk->window + at + 8 * i);
  return 0;
}

// The word for the function of V8 that runs in the frame with this frame pointer, which is the
// current one of the walk; 0 if none does.
__attribute__((noinline)) u64 v8_frame_word(u32 number, u64 frame, u32 at) {
  struct scratch* scratch = scratch_at(number);
  if (!scratch) return 0;
  struct script_chain* chain = &scratch->chain;
  struct interpreter* interpreter = bpf_map_lookup_elem(&interpreters, &chain->slot);
  if (!interpreter || frame & 7) return 0;
  at &= max_script_items - 1;
  u64* memory = (u64*)chain->memory;
  u64 address = scratch->walk.address;
  enum v8_frame found = v8_unreadable_frame;
  if (!read_v8_words(&scratch->walk, memory + v8_memory_offset, frame - v8_frame_offset))
    // In its innermost frame, a function has not said where it is.
    found = read_v8_frame(&interpreter->v8, address & exact_address ? 0 : address,
                          bpf_get_current_pid_tgid(), memory, &chain->last_script, &chain->memos,
                          &chain->items[at], &chain->objects[at], &scratch->sites[at]);
  if (found == v8_other_frame) return 0;
  if (found == v8_unreadable_frame) {
    COUNT(scripts_unread, 1);
    return script_word(language_javascript, 0, script_unreadable);
  }
  return v8_word(chain->objects[at], &scratch->sites[at]);
}

ALWAYS_INLINE void begin_java_walk(struct scratch* scratch) {
  u32 slot = scratch->chain.slot;
  struct interpreter* interpreter = bpf_map_lookup_elem(&interpreters, &slot);
  if (!interpreter || !begin_java(&interpreter->java, interpreter->base)) return;
  scratch->walking.java_low = interpreter->java.low;
  scratch->walking.java_bytes = interpreter->java.bytes;
}

// One step of the walk in Java's code.
ALWAYS_INLINE enum java_step step_in_java(struct scratch* scratch, struct java_frame* frame) {
  u32 slot = scratch->chain.slot;
  struct interpreter* interpreter = bpf_map_lookup_elem(&interpreters, &slot);
  if (!interpreter) return java_unreadable;
  u64 locals = 0;
  if (!scratch->walking.frames) {
    // The interpreter of Java keeps the place of the locals in r14.
    struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(bpf_get_current_task_btf());
    locals = BPF_CORE_READ(regs, r14);
  }
  return step_java(&interpreter->java, &scratch->walk.at, scratch->chain.memory,
                   &scratch->chain.memos, locals, &scratch->walking.chunk, frame);
}

// From the last frame of a virtual thread that is on its stack to its callers, in the heap.
ALWAYS_INLINE int to_java_heap(struct scratch* scratch) {
  u32 slot = scratch->chain.slot;
  struct interpreter* interpreter = bpf_map_lookup_elem(&interpreters, &slot);
  return interpreter &&
         enter_java_heap(&interpreter->java, &scratch->walk.at, &scratch->walking.chunk,
                         (struct java_chunk_room*)scratch->chain.memory);
}

// Whether what the walk has read in Java's heap may be wrong.
ALWAYS_INLINE int has_java_heap_moved(struct scratch* scratch) {
  u32 slot = scratch->chain.slot;
  struct interpreter* interpreter = bpf_map_lookup_elem(&interpreters, &slot);
  return !interpreter || have_java_objects_moved(&interpreter->java, &scratch->walking.chunk);
}
