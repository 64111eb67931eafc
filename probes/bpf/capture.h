// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// capture(): from user registers to the hash of a call stack that user space knows. Every *.bpf.c
// includes this after its `struct probe_state` (what the probe keeps per thread).
//
// The idea: a distinct stack crosses the ring buffer once ("announce"); after that only its 64-bit
// hash is used, so an event costs the walk and one addition. A stack is announced before its sum
// exists: if the ring is full, its next event tries again. A stack that cannot be walked here,
// because the tables of its code are not loaded yet or because the user chose copies, is copied
// instead; each event then has a key of its own, and its figures go to user space one by one.
#pragma once

#include "copy.h"
#include "learn.h"
#include "maps.h"
#include "scripts.h"

ALWAYS_INLINE struct code_slot* code_of(u32 at, u32 space) {
  struct code_slot* slot = bpf_map_lookup_elem(&code_slots, &at);
  return slot && slot->space == space ? slot : 0;
}

ALWAYS_INLINE void count_walk(u32 frames, u32 stop) {
  u32 zero = 0;
  struct counters* all = bpf_map_lookup_elem(&counters, &zero);
  if (!all || stop >= stop_count) return;
  __sync_fetch_and_add(&all->stacks, 1);
  __sync_fetch_and_add(&all->frames, frames);
  __sync_fetch_and_add(&all->stops[stop], 1);
}

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

// Whether a stack that met unknown code may be copied: not while the ring is filling up.
ALWAYS_INLINE int may_copy(struct code_slot* slot, u32 stop) {
  if (!slot || (stop != stop_no_mapping && stop != stop_no_table)) return 0;
  if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > 2 * config.wake_bytes) return 0;
  // User space resets `copies` at any time, so nothing may depend on its present value.
  return slot->copies > 0 && __sync_fetch_and_add(&slot->copies, -1) > 0;
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

// Takes a frame of Java's code.
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
    walk->at.stop = stop_frozen;
  } else if (step == java_unreadable) {
    walk->at.stop = stop_unreadable;
    frame->word = script_word(language_java, 0, script_unreadable);
  }
  if (frame->word && !script_code(frame->word) && step != java_virtual_end)
    COUNT(scripts_unread, 1);
  if (frame->word && put_frame(scratch, frame->word, hashed_java(frame->word, frame->instance)))
    return 1;
  return step >= java_unreadable;
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
  if (config.scripts && walk->at.ip - scratch->walking.java_low < scratch->walking.java_bytes &&
      !walk->at_entry) {
    int ended = take_java_frame(scratch->walking.number);
    asm volatile("" : "+r"(ended));  // the verifier does not know what the function returns
    return ended & 1;
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
  walking->v8 = config.scripts && scratch->chain.language == language_v8;
  if (walking->v8) scratch->chain.last_script.object = 0;
  scratch->walk.below = walking->v8 ? v8_frame_offset : 0;
  if (config.scripts) ++scratch->chain.memos.stack;
  walking->php = config.scripts && scratch->chain.language == language_php &&
                 (scratch->chain.end == script_whole || scratch->chain.end == script_too_long);
  walking->java_low = walking->java_bytes = 0;
  if (config.scripts && scratch->chain.language == language_java) begin_java_walk(scratch);
  walking->at = scratch->stack.kernel_frames + frames;
  walking->frames = frames;
  scratch->walk.at.stop = stop_too_deep;
  scratch->walk.unknown = 0;
  // A turn that meets an interpreter's loop takes no frame.
  struct walking_in in = {scratch};
  if (frames < config.max_depth) bpf_loop(2 * (config.max_depth - frames), take_frame, &in, 0);
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

ALWAYS_INLINE int tells_scripts(const struct scratch* scratch) {
  return config.scripts && (scratch->chain.count || scratch->chain.language >= language_v8);
}

ALWAYS_INLINE int tell_all(const struct scratch* scratch, u32 number, u32 code) {
  return scratch->chain.language == language_php ? tell_chain(number, code)
                                                 : tell_scripts(number, code);
}

// Sends the stack to be walked in user space. Returns the key that stands for it; 0 if it could not
// be sent.
ALWAYS_INLINE u64 copy_stack(u32 number, u32 entry) {
  u64 key =
      copy_key(mix(mix(bpf_ktime_get_ns(), bpf_get_current_pid_tgid()), bpf_get_prandom_u32()));
  if (config.scripts && !send_chain(number, key)) return 0;
  return send_copy(number, entry, key, 0);
}

// Sends a stack that user space does not know yet. Returns its key, or a note.
__attribute__((noinline)) u64 announce(u32 number, u64 hash) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct scratch* scratch = scratch_at(number);
  if (!scratch) return 0;
  struct stack_record* stack = &scratch->stack;
  if (object_globals.stack_table_is_full) return note_key(stack->space, note_stack_table_full);
  stack->type = record_stack;
  stack->hash = hash;
  stack->time = bpf_ktime_get_ns();
  stack->tgid = shown_tgid(task);
  bpf_probe_read_kernel_str(stack->comm, sizeof(stack->comm), task->group_leader->comm);
  u32 words = stack->kernel_frames + stack->frames;
  if (words > max_kernel_frames + max_frames) words = max_kernel_frames + max_frames;
  // Announce first: if that fails, the stack stays unknown and its next event tries again.
  u32 size = __builtin_offsetof(struct stack_record, pcs) + words * sizeof(u64);
  if (size > sizeof(*stack)) size = sizeof(*stack);
  if (bpf_ringbuf_output(&ring, stack, size, wake_if_filling()))
    return note_key(stack->space, note_ring_full);
  struct sum empty = {};
  long error = insert(&sums, &hash, &empty);
  if (error == full) object_globals.stack_table_is_full = 1;
  // Another CPU may have added the same stack just now. There was no room only if it is still
  // missing.
  if (error && !bpf_map_lookup_elem(&sums, &hash))
    return note_key(stack->space, note_stack_table_full);
  return hash;
}

// The user part of capture(): `stack` has its space and its kernel frames, whose hash is `hash`.
__attribute__((noinline)) u64 capture_user(u32 number, u32 code, u32 entry, u64 hash) {
  struct scratch* scratch = scratch_at(number);
  if (!scratch) return 0;
  struct stack_record* stack = &scratch->stack;
  u32 space = stack->space;
  struct task_struct* task = bpf_get_current_task_btf();
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  struct code_slot* slot = code_of(code, space);
  // Not on the program's own stack: all functions together have 512 bytes of it.
  struct walk* walk = &scratch->walk;
  walk->at.ip = regs->ip;
  walk->at.sp = regs->sp;
  walk->at.bp = regs->bp;
  walk->at.bx = regs->bx;
  walk->at.bx_is = bx_value;
  walk->at.exact = 1;
  walk->at.guessed = 0;
  walk->list = slot ? slot->list : 0;
  walk->tag = slot && config.learns ? tag_of(slot) : 0;
  walk->at_entry = entry;
  walk->filled = 0;
  walk->unknown = 0;
  walk->pending = trampolines_of(task);
  if (!entry && task->utask) leave_uprobes_page(task, walk);
  scratch->ip = walk->at.ip;
  scratch->returned = !walk->at.exact;
  scratch->code = code;
  if (config.scripts) {
    scratch->chain.count = 0;
    scratch->chain.next = 0;
    scratch->chain.end = script_none;
    scratch->chain.language = language_none;
    if (slot) read_scripts(number, code);
  }
  if (config.stacks == stacks_copy) {
    u64 key = copy_stack(number, entry);
    if (key) COUNT(copied, 1);
    return key ? key : note_key(space, note_ring_full);
  }
  stack->frames = 0;
  scratch->first_hash = hash;
  hash = walk_user_stack(number, hash);
  if (walk->unknown) {
    // Not inside the walk, where calls are already nested to the limit.
    for (int i = 0; i < most_learnt && walk->unknown && learn(number, code); ++i)
      hash = walk_user_stack(number, hash);
    if (walk->unknown) hash = take_unknown(stack, walk, hash);
  }
  if (config.scripts && scratch->chain.language == language_php &&
      scratch->chain.end != script_none)
    hash = settle_php(number, scratch->first_hash, hash);
  if (config.scripts && scratch->chain.end != script_none)
    hash = mark_scripts(stack, &scratch->chain, hash);
  hash = stack_key(hash);
  if (may_copy(slot, stack->stop)) {
    u64 key = copy_stack(number, entry);
    if (key) {
      COUNT(copied, 1);
      return key;
    }
  }
  count_walk(stack->frames, stack->stop);
  u64 key = hash;
  if (!bpf_map_lookup_elem(&sums, &hash))
    key = tells_scripts(scratch) && !tell_all(scratch, number, code)
              ? note_key(space, note_ring_full)
              : announce(number, hash);

  if (config.check_every && key == hash && bpf_get_prandom_u32() % config.check_every == 0)
    send_copy(number, entry, hash, 1);
  return key;
}

// Takes the user stack of the current task and makes sure that user space knows it. `entry`: the
// task is at a function's first instruction. Returns the key for account(): it stands for the
// stack, or is a note if the stack could not be announced.
ALWAYS_INLINE u64 capture(void* ctx, struct process* process, u32 entry) {
  u32 number = claim_scratch();
  struct scratch* scratch = scratch_at(number);
  if (!scratch) return note_key(process->space, note_no_state);
  struct stack_record* stack = &scratch->stack;
  // Mixed like an address: otherwise neighbouring addresses in two spaces could give one hash.
  u64 hash = mix(0, process->space);
  stack->space = process->space;
  stack->leaf = 0;
  stack->kernel_frames = 0;
  if (config.kernel_stacks) {
    long bytes = bpf_get_stack(ctx, stack->pcs, max_kernel_frames * sizeof(u64),
                               config.kernel_skip & BPF_F_SKIP_FIELD_MASK);
    if (bytes > 0) stack->kernel_frames = (u64)bytes / sizeof(u64);
    for (int i = 0; i < max_kernel_frames && i < stack->kernel_frames; ++i)
      hash = mix(hash, stack->pcs[i]);
  }
  u64 key = capture_user(number, process->code, entry, hash);
  scratch->busy = 0;
  return key;
}

// The sum of a key, created if missing; null if there is no room.
ALWAYS_INLINE struct sum* sum_in(void* map, u64 key) {
  struct sum* sum = bpf_map_lookup_elem(map, &key);
  if (sum) return sum;
  u32 zero = 0;
  struct sum* empty = bpf_map_lookup_elem(&new_sum, &zero);
  if (empty) insert(map, &key, empty);
  return bpf_map_lookup_elem(map, &key);
}

ALWAYS_INLINE struct sum* sum_of(u64 key) {
  if (key >> 63) return bpf_map_lookup_elem(&sums, &key);
  return sum_in(&notes, key);
}

// Adds to one column of a copied stack: in user space, or in `sums` while the ring is full.
ALWAYS_INLINE void account_copied(u64 key, u32 column, s64 value) {
  struct amount_record amount = {
      .type = OF_PROBE(record_amount), .column = column, .key = key, .value = value};
  if (!bpf_ringbuf_output(&ring, &amount, sizeof(amount), wake_if_filling())) return;
  struct sum* sum = sum_in(&sums, key);
  if (sum && column < columns) {
    __sync_fetch_and_add(&sum->value[column], (u64)value);
    return;
  }
  COUNT(event_drops, 1);
  if (column == 0 && value > 0) COUNT(event_drop_bytes, value * config.column_bytes);
}

// Adds to one column of a stack, and `events` to column `counter` unless that is `columns`. A
// copied stack is a single event, so user space counts these itself.
ALWAYS_INLINE void account_event(u64 key, u32 column, s64 value, u32 counter, u64 events) {
  if (is_copy_key(key)) {
    account_copied(key, column, value);
    return;
  }
  struct sum* sum = sum_of(key);
  if (sum && column < columns) __sync_fetch_and_add(&sum->value[column], (u64)value);
  if (sum && counter < columns) __sync_fetch_and_add(&sum->value[counter], events);
}

// Adds to one column of a stack.
ALWAYS_INLINE void account(u64 key, u32 column, s64 value) {
  account_event(key, column, value, columns, 0);
}

// Loss counters of a stack that became a note.
ALWAYS_INLINE void count_lost_stack(u64 key, u64 bytes) {
  if (key >> 63) return;
  if ((key & 0xff) == note_ring_full) {
    COUNT(ring_full_events, 1);
    COUNT(ring_full_bytes, bytes);
  } else if ((key & 0xff) == note_stack_table_full) {
    COUNT(stack_full_events, 1);
    COUNT(stack_full_bytes, bytes);
  } else if ((key & 0xff) == note_no_state) {
    COUNT(no_state_events, 1);
    COUNT(no_state_bytes, bytes);
  }
}
