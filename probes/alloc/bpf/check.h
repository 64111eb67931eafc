// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// --check: finds frees that look wrong: an address that is freed twice, an address that was never
// allocated, a block of new[] that is passed to free(). Each is sent with its stacks, as a
// candidate: user space leaves out those that an unseen call may explain.
#pragma once

#include "blocks.h"

// The blocks that were freed last. The table evicts the least recently used entry, so a second free
// is found only if it comes before the entry of the first one is evicted.
struct freed {
  u64 allocating, freeing;  // keys of stacks
  u64 size;
  u32 allocated_by, freed_by;
  u64 time;
  u32 thread;  // that freed it
  u32 pad;
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 1);  // user space sets it before load
  __type(key, struct block_key);
  __type(value, struct freed);
} freed_blocks SEC(".maps");

ALWAYS_INLINE void forget_freed(struct block_key* key) { bpf_map_delete_elem(&freed_blocks, key); }

ALWAYS_INLINE void say_candidate(struct candidate_record* record) {
  record->type = OF_PROBE(record_candidate);
  if (bpf_ringbuf_output(&ring, record, sizeof(*record), wake_if_filling())) COUNT(event_drops, 1);
}

// Marks operator new and delete that only call malloc() and free(): they do not count in the
// figures, but determine the family of the block.
enum { farthest_mark = 512 };  // bytes of stack between such a function and the malloc() it calls
ALWAYS_INLINE void on_mark(struct pt_regs* ctx, struct call_shape shape) {
  struct thread* thread = this_thread();
  if (!thread) return;
  struct probe_state* state = &thread->state;
  if (shape.block) {
    // delete[] calls delete: the outermost one decides.
    u64 block = ctx->di;
    if (state->marked_block == block && state->freeing_family == family_new_array) return;
    state->marked_block = block;
    state->freeing_family = shape.family;
    state->freeing_mark = shape.function + 1;
    return;
  }
  if (state->marked_sp >= ctx->sp && state->marked_sp - ctx->sp < farthest_mark) return;
  state->marked_sp = ctx->sp;
  state->marked_family = shape.family;
}

ALWAYS_INLINE void check_family_of_call(struct probe_state* call, u64 sp) {
  if (call->marked_sp >= sp && call->marked_sp - sp < farthest_mark)
    call->shape.family = call->marked_family;
  call->marked_sp = 0;
}

// Records are assembled in functions of their own: a program and the functions it calls share 512
// bytes of stack, and capture() needs most of it.

__attribute__((noinline)) int remember_freed(const struct block_key* at, const struct block* block,
                                             u64 here, u32 function) {
  if (!at || !block) return 0;
  struct block_key key = *at;  // copied as in put()
  struct freed freed = {.allocating = block->hash,
                        .freeing = here,
                        .size = block->size,
                        .allocated_by = block->function,
                        .freed_by = function,
                        .time = bpf_ktime_get_ns(),
                        .thread = bpf_get_current_pid_tgid()};
  bpf_map_update_elem(&freed_blocks, &key, &freed, BPF_ANY);
  return 1;
}

__attribute__((noinline)) int say_mismatched(const struct block_key* at, const struct block* block,
                                             u64 here, u32 function, u64 family_and_mark) {
  if (!at || !block) return 0;
  u32 family = (u32)family_and_mark;
  struct candidate_record record = {.space = at->space,
                                    .kind = candidate_mismatched,
                                    .allocated_by = block->function,
                                    .freed_by = function,
                                    .address = at->address,
                                    .size = block->size,
                                    .since = block->time_ns,
                                    .marked_by = family_and_mark >> 32,
                                    .freeing = here,
                                    .allocating = block->hash};
  record.families = block->family << 8 | family;
  say_candidate(&record);
  return 1;
}

ALWAYS_INLINE int fit(u32 family, u32 other) {
  return !family || !other || family == family_other || other == family_other || family == other;
}

// `here`: the key of this free's stack.
ALWAYS_INLINE void check_freed(struct thread* thread, struct block_key* key, struct block* block,
                               u64 here, struct call_shape shape) {
  u32 family = shape.family, mark = 0;
  if (thread && thread->state.marked_block == key->address) {
    family = thread->state.freeing_family;
    mark = thread->state.freeing_mark;
  }
  if (thread) thread->state.marked_block = 0;
  remember_freed(key, block, here, shape.function);
  if (!fit(block->family, family))
    say_mismatched(key, block, here, shape.function, (u64)mark << 32 | family);
}
