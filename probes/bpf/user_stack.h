// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The user stack of the current task: its frames, with the functions of interpreters in their
// places, and the hash of both. capture() prepares the walk, and these functions do it.
#pragma once

#include "maps.h"
#include "scripts.h"

// If the program is in the page that the kernel adds to processes with uprobes, finds the address
// in its own code; the page can fault like any other. The program is there in two cases: at the
// trampoline, after a function with a pending return probe has returned; or at a copy of an
// instruction that a breakpoint replaces.
ALWAYS_INLINE void leave_uprobes_page(struct task_struct* task, struct walk* walk) {
  u64 page = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
  if (!page || walk->at.ip < page || walk->at.ip - page >= 4096) return;
  if (walk->at.ip != page) {
    walk->at.ip = BPF_CORE_READ(task, utask, vaddr);
  } else if (walk->pending.next) {
    struct return_instance* last = (void*)walk->pending.next;
    walk->at.ip = true_return_address(&walk->pending, BPF_CORE_READ(last, stack), walk->at.ip);
    walk->at.exact = 0;
  }
}

// What turns of bpf_loop() get: only the program's own stack can be handed on, which has 512 bytes
// for all functions together. The state itself is in the scratch (struct walking).
struct walking_in {
  struct scratch* scratch;
};

ALWAYS_INLINE int put_frame(struct scratch* scratch, u64 address, u64 hashed) {
  struct walking* walking = &scratch->walking;
  u32 at = walking->at;
  if (at >= max_kernel_frames + max_frames) return 1;
  scratch->stack.pcs[at] = address;
  walking->before_last = walking->hash;
  walking->hash = mix(walking->hash, hashed);
  walking->at = at + 1;
  return ++walking->frames >= config.max_depth;
}

ALWAYS_INLINE u64 next_script(const struct script_chain* chain) {
  u32 next = chain->next;
  return next < chain->count ? chain->items[next & (max_script_items - 1)] : 0;
}

// Takes functions of the run that the walk has met; behind the last one, its loop.
enum { scripts_a_turn = 16 };
static __attribute__((noinline)) int take_script_frames(struct scratch* scratch) {
  struct script_chain* chain = &scratch->chain;
  struct walking* walking = &scratch->walking;
  u64 hash = walking->hash;
  u32 at = walking->at, next = chain->next, end = chain->count, freed = chain->freed;
  u32 left = config.max_depth - walking->frames, taken = 0;
  int more = 1;
  for (int i = 0; i < scripts_a_turn; ++i) {
    u64 word = next < end ? chain->items[next & (max_script_items - 1)] : 0;
    if (!script_language(word)) {
      more = 0;
      break;
    }
    asm volatile("" : "+r"(at));  // the verifier needs the check of each place, not of a pointer
    if (taken >= left || at >= max_kernel_frames + max_frames) return 1;
    scratch->stack.pcs[at] = word;
    hash = mix(hash, hashed_script(word, freed));
    ++at, ++next, ++taken;
  }
  walking->hash = hash;
  walking->at = at;
  walking->frames += taken;
  chain->next = next;
  if (walking->frames >= config.max_depth) return 1;
  if (more) return 0;
  if (walking->core) {
    u64 core = walking->core;
    walking->core = 0;
    if (put_frame(scratch, core, core)) return 1;
  }
  u64 loop = walking->loop;
  walking->loop = 0;
  walking->record = next_script(chain);
  return put_frame(scratch, loop, loop);
}

// Takes a frame of Java's code. Returns whether the walk goes on, and how.
enum { java_goes_on, java_ends, java_goes_to_heap };
__attribute__((noinline)) int take_java_frame(u32 number) {
  struct scratch* scratch = scratch_at(number);
  if (!scratch) return 1;
  struct java_frame* frame = &scratch->walking.java;
  frame->instance = 0;
  enum java_step step = step_in_java(scratch, frame);
  struct walk* walk = &scratch->walk;
  if (step == java_virtual_end) {
    walk->at.stop = stop_end;
    frame->word = script_word(language_java, 0, script_virtual_thread);
  } else if (step == java_frozen) {
    return java_goes_to_heap;
  } else if (step == java_unreadable) {
    walk->at.stop = stop_unreadable;
    frame->word = script_word(language_java, 0, script_unreadable);
  }
  if (frame->word && !script_code(frame->word) && step != java_virtual_end)
    COUNT(scripts_unread, 1);
  if (frame->word && put_frame(scratch, frame->word, hashed_java(frame->word, frame->instance)))
    return java_ends;
  return step >= java_unreadable ? java_ends : java_goes_on;
}

// Goes to the frames of a virtual thread that are in Java's heap. Returns whether the walk ends.
__attribute__((noinline)) int take_java_heap(u32 number) {
  struct scratch* scratch = scratch_at(number);
  if (!scratch) return java_ends;
  struct walking* walking = &scratch->walking;
  if (!walking->chunk.end) {
    walking->hash_on_stack = walking->hash;
    walking->frames_on_stack = walking->frames;
  }
  if (to_java_heap(scratch)) return java_goes_on;
  scratch->walk.at.stop = stop_frozen;
  return java_ends;
}

// Takes frames in Java's heap out again if a collection may have moved them during the walk.
__attribute__((noinline)) int settle_java_heap(u32 number) {
  struct scratch* scratch = scratch_at(number);
  if (!scratch || !has_java_heap_moved(scratch)) return 0;
  struct walking* walking = &scratch->walking;
  walking->hash = walking->hash_on_stack;
  walking->frames = walking->frames_on_stack;
  scratch->walk.at.stop = stop_frozen;
  return 0;
}

// Ruby's loop is called by the function that has the run's address: functions go behind the loop,
// whose frame was taken already, and not between the two.
ALWAYS_INLINE void take_back_core(struct scratch* scratch) {
  struct walking* walking = &scratch->walking;
  u32 last = walking->at - 1;
  if (last < scratch->stack.kernel_frames || last >= max_kernel_frames + max_frames) return;
  u64 address = scratch->stack.pcs[last];
  if ((address & ~exact_address) - walking->core_begin >= walking->core_bytes) return;
  walking->core = address;
  walking->hash = walking->before_last;
  walking->at = last;
  --walking->frames;
}

// Whether the frame that was taken last is one of PHP's loop that has functions. A function of its
// own, as the walk has no room on the stack.
static __attribute__((noinline)) int meet_php_loop(struct scratch* scratch) {
  struct script_chain* chain = &scratch->chain;
  u64 address = scratch->walk.address;
  if (!is_php_loop(&chain->loop, address & ~exact_address, (address & exact_address) != 0))
    return 0;
  ++chain->loops;
  if (!scratch->walking.record) return 0;
  ++chain->next;
  scratch->walking.loop = address;
  return 1;
}

static int take_frame(u32 turn, struct walking_in* in) {
  struct scratch* scratch = in->scratch;
  struct walk* walk = &scratch->walk;
  if (config.scripts && scratch->walking.loop) return take_script_frames(scratch);
  if (config.scripts && !walk->at_entry &&
      (scratch->walking.chunk.end ||
       walk->at.ip - scratch->walking.java_low < scratch->walking.java_bytes)) {
    int ended = take_java_frame(scratch->walking.number);
    asm volatile("" : "+r"(ended));  // the verifier does not know what the function returns
    return ended & java_goes_to_heap ? turn_ends(take_java_heap(scratch->walking.number))
                                     : ended & java_ends;
  }
  u64 sp = walk->at.sp, bp = walk->at.bp;
  int done = step(walk);
  if (!(done & step_frame)) return 1;
  if (config.scripts && scratch->walking.record - sp < walk->at.sp - sp) {
    ++scratch->chain.next;
    scratch->walking.loop = walk->address;
    if (scratch->walking.core_bytes) take_back_core(scratch);
    return 0;
  }
  if (config.scripts && scratch->walking.php && done & step_more && meet_php_loop(scratch))
    return 0;
  // V8's code is known for its frame pointers only.
  if (config.scripts && scratch->walking.v8 && done & step_more && walk->at.guessed) {
    u64 word = v8_frame_word(scratch->walking.number, bp, scratch->walking.frames);
    if (word) return put_frame(scratch, word, hashed_script(word, 0));
  }
  return put_frame(scratch, walk->address, walk->address) || !(done & step_more);
}

// Walks the user part of the stack; returns the hash. With bpf_loop() the verifier looks at one
// turn only; looking at all of them would take most of the time to attach.
__attribute__((noinline)) u64 walk_user_stack(u32 number, u64 hash) {
  struct scratch* scratch = scratch_at(number);
  if (!scratch) return 0;
  struct walking* walking = &scratch->walking;
  u32 frames = scratch->stack.frames;
  walking->record = config.scripts ? next_script(&scratch->chain) : 0;
  walking->loop = 0;
  walking->core = 0;
  walking->core_bytes = 0;
  if (config.scripts && scratch->chain.language == language_ruby) {
    walking->core_begin = scratch->chain.core_begin;
    walking->core_bytes = scratch->chain.core_bytes;
  }
  walking->hash = hash;
  walking->number = number;
  walking->v8 = config.scripts && scratch->chain.language == language_javascript;
  if (walking->v8) scratch->chain.last_script.object = 0;
  scratch->walk.below = walking->v8 ? v8_frame_offset : 0;
  if (config.scripts) ++scratch->chain.memos.stack;
  walking->php = config.scripts && scratch->chain.language == language_php &&
                 (scratch->chain.end == script_whole || scratch->chain.end == script_too_long);
  walking->java_low = walking->java_bytes = 0;
  walking->chunk.came = walking->chunk.end = 0;
  if (config.scripts && scratch->chain.language == language_java) begin_java_walk(scratch);
  walking->at = scratch->stack.kernel_frames + frames;
  walking->frames = frames;
  scratch->walk.at.stop = stop_too_deep;
  scratch->walk.unknown = 0;
  // A turn that meets an interpreter's loop takes no frame.
  struct walking_in in = {scratch};
  if (frames < config.max_depth) bpf_loop(2 * (config.max_depth - frames), take_frame, &in, 0);
  if (config.scripts && walking->chunk.end) settle_java_heap(number);
  scratch->stack.frames = walking->frames;
  scratch->stack.stop = scratch->walk.at.stop;
  return walking->hash;
}

// Marks a stack whose functions could not all be read, or placed although the walk has reached the
// thread's first frame. Returns the hash.
ALWAYS_INLINE u64 mark_scripts(struct stack_record* stack, struct script_chain* chain, u64 hash) {
  u32 at = stack->kernel_frames + stack->frames;
  int broken = chain->end == script_unreadable || chain->end == script_too_long;
  if (!broken && (stack->stop != stop_end || !next_script(chain))) return hash;
  if (at >= max_kernel_frames + max_frames) return hash;
  COUNT(scripts_unread, 1);
  u64 word = script_word(chain->language, 0, chain->end);
  stack->pcs[at] = word;
  ++stack->frames;
  return mix(hash, word);
}

// What is kept is counted in the scratch: the verifier would look at each count on the stack.
static int keep_native(u32 turn, struct walking_in* in) {
  struct scratch* scratch = in->scratch;
  struct stack_record* stack = &scratch->stack;
  struct walking* walking = &scratch->walking;
  u32 from = stack->kernel_frames + turn, to = stack->kernel_frames + walking->frames;
  if (turn >= stack->frames || from >= max_kernel_frames + max_frames) return 1;
  u64 address = stack->pcs[from];
  if (script_language(address) || to >= max_kernel_frames + max_frames) return 0;
  stack->pcs[to] = address;
  walking->hash = mix(walking->hash, address);
  ++walking->frames;
  return 0;
}

// Takes PHP's functions out of the stack again unless each has its loop. `first`: the hash before
// the first frame. Returns the hash.
__attribute__((noinline)) u64 settle_php(u32 number, u64 first, u64 hash) {
  struct scratch* scratch = scratch_at(number);
  if (!scratch) return 0;
  struct script_chain* chain = &scratch->chain;
  struct stack_record* stack = &scratch->stack;
  if (are_php_loops(chain->end, chain->runs, chain->loops, stack->stop == stop_too_deep))
    return hash;
  u64 task = bpf_get_current_pid_tgid();
  // A thread of its own that has nothing to do with PHP is not marked.
  int is_other = !chain->loops && stack->stop == stop_end && task >> 32 != (u32)task;
  chain->end = is_other ? script_none : script_unreadable;
  chain->count = 0;
  scratch->walking.hash = first;
  scratch->walking.frames = 0;
  struct walking_in in = {scratch};
  bpf_loop(max_frames, keep_native, &in, 0);
  stack->frames = scratch->walking.frames;
  return scratch->walking.hash;
}

// Takes the frame in unknown code at which a walk ended; returns the hash.
ALWAYS_INLINE u64 take_unknown(struct stack_record* stack, struct walk* walk, u64 hash) {
  u32 at = stack->kernel_frames + stack->frames;
  if (walk->at.guessed || at >= max_kernel_frames + max_frames) return hash;
  stack->pcs[at] = walk->address;
  ++stack->frames;
  return mix(hash, walk->address);
}
