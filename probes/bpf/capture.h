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
#include "turns.h"
#include "user_stack.h"

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

// Whether a stack that met unknown code may be copied: not while the ring is filling up.
ALWAYS_INLINE int may_copy(struct code_slot* slot, u32 stop) {
  if (!slot || (stop != stop_no_mapping && stop != stop_no_table)) return 0;
  if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > 2 * config.wake_bytes) return 0;
  // User space resets `copies` at any time, so nothing may depend on its present value.
  return slot->copies > 0 && __sync_fetch_and_add(&slot->copies, -1) > 0;
}

ALWAYS_INLINE int tells_scripts(const struct scratch* scratch) {
  return config.scripts && (scratch->chain.count || scratch->chain.language >= language_javascript);
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
  BPF_CORE_READ_STR_INTO(&stack->comm, task, group_leader, comm);
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

// A function of its own, so that what it needs of the program's stack is free again when functions
// are nested to the limit: all of them together have 512 bytes.
static __attribute__((noinline)) int begin_walk(struct scratch* scratch, u32 entry) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  struct walk* walk = &scratch->walk;
  walk->at.ip = regs->ip;
  walk->at.sp = regs->sp;
  walk->at.bp = regs->bp;
  walk->at.bx = regs->bx;
  walk->at.bx_is = bx_value;
  walk->at.exact = 1;
  walk->at.guessed = 0;
  walk->at_entry = entry;
  walk->filled = 0;
  walk->unknown = 0;
  walk->pending = trampolines_of(task);
  if (!entry && task->utask) leave_uprobes_page(task, walk);
  scratch->ip = walk->at.ip;
  scratch->returned = !walk->at.exact;
  return 0;
}

// The user part of capture(): `stack` has its space and its kernel frames, whose hash is `hash`.
__attribute__((noinline)) u64 capture_user(u32 number, u32 code, u32 entry, u64 hash) {
  struct scratch* scratch = scratch_at(number);
  if (!scratch) return 0;
  struct stack_record* stack = &scratch->stack;
  struct walk* walk = &scratch->walk;
  begin_walk(scratch, entry);
  // After it: the verifier would look at it twice, once for a process without mappings.
  struct code_slot* slot = code_of(code, stack->space);
  walk->list = slot ? slot->list : 0;
  walk->tag = slot && config.learns ? tag_of(slot) : 0;
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
    return key ? key : note_key(stack->space, note_ring_full);
  }
  stack->frames = 0;
  scratch->first_hash = hash;
  hash = walk_user_stack(number, hash);
  if (walk->unknown) {
    // Not inside the walk, where calls are already nested to the limit.
    for (int i = 0; i < most_learnt && walk->unknown && learn(number, scratch->code); ++i)
      hash = walk_user_stack(number, hash);
    if (walk->unknown) hash = take_unknown(stack, walk, hash);
  }
  if (config.scripts && scratch->chain.language == language_php &&
      scratch->chain.end != script_none)
    hash = settle_php(number, scratch->first_hash, hash);
  if (config.scripts && scratch->chain.end != script_none)
    hash = mark_scripts(stack, &scratch->chain, hash);
  if (slot && slot->has_unmapped) hash = hash_turns(number, hash);
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
    key = tells_scripts(scratch) && !tell_all(scratch, number, scratch->code)
              ? note_key(stack->space, note_ring_full)
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
