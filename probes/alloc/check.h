// --check: frees that look wrong. What is found are candidates, sent with the stacks that made
// them: an address that is freed twice, one that was never allocated, a block of new[] that free()
// gets.
#pragma once

#include "blocks.h"

// What was freed last. The least recently used entry makes room for a new one, so a second free is
// found while no more than so many blocks were freed in between.
struct freed {
  u64 allocating, freeing;  // stacks
  u64 size;
  u32 allocated_by, freed_by;
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 1);  // user space sets it before load
  __type(key, struct block_key);
  __type(value, struct freed);
} freed_blocks SEC(".maps");

ALWAYS_INLINE void forget_freed(struct block_key* key) { bpf_map_delete_elem(&freed_blocks, key); }

ALWAYS_INLINE void say_candidate(struct candidate_record* record) {
  record->type = record_candidate;
  if (bpf_ringbuf_output(&ring, record, sizeof(*record), wake_if_filling())) COUNT(event_drops, 1);
}

// operator new and delete that call malloc() and free() have no part in the figures; but what they
// are called is the family of the block.
enum { farthest_mark = 512 };  // bytes of stack between such a function and the malloc() it calls
ALWAYS_INLINE void on_mark(struct pt_regs* ctx, struct call_shape shape) {
  struct thread* thread = this_thread();
  if (!thread) return;
  struct probe_state* state = &thread->state;
  if (shape.block) {
    // delete[] calls delete: the outermost one says what it is.
    u64 block = ctx->di;
    if (state->marked_block == block && state->freeing_family == family_new_array) return;
    state->marked_block = block;
    state->freeing_family = shape.family;
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

// Records are put together in functions of their own: programs, with all that they call, have 512
// bytes of stack, and taking a stack needs most of them.

__attribute__((noinline)) int remember_freed(const struct block_key* at, const struct block* block,
                                             u64 here, u32 function, u32 family) {
  if (!at || !block) return 0;
  struct block_key key = *at;  // as in put()
  struct freed freed = {.allocating = block->hash,
                        .freeing = here,
                        .size = block->size,
                        .allocated_by = block->function,
                        .freed_by = function};
  bpf_map_update_elem(&freed_blocks, &key, &freed, BPF_ANY);
  if (!block->family || !family || family == family_other || block->family == family_other ||
      block->family == family)
    return 0;
  struct candidate_record record = {.space = key.space,
                                    .kind = candidate_mismatched,
                                    .allocated_by = block->function,
                                    .freed_by = function,
                                    .address = key.address,
                                    .size = block->size,
                                    .freeing = here,
                                    .allocating = block->hash};
  record.families = block->family << 8 | family;
  say_candidate(&record);
  return 1;
}

ALWAYS_INLINE void check_freed(struct pt_regs* ctx, struct process* process, struct thread* thread,
                               struct block_key* key, struct block* block,
                               struct call_shape shape) {
  u32 family = shape.family;
  if (thread && thread->state.marked_block == key->address) family = thread->state.freeing_family;
  if (thread) thread->state.marked_block = 0;
  remember_freed(key, block, capture(ctx, process, 1), shape.function, family);
}

__attribute__((noinline)) int say_missed(const struct block_key* at, u64 here, u32 function) {
  if (!at) return 0;
  struct block_key key = *at;
  struct candidate_record record = {.space = key.space,
                                    .kind = candidate_never_allocated,
                                    .freed_by = function,
                                    .address = key.address,
                                    .freeing = here};
  struct freed* freed = bpf_map_lookup_elem(&freed_blocks, &key);
  if (freed) {
    record.kind = candidate_double_free;
    record.allocated_by = freed->allocated_by;
    record.size = freed->size;
    record.allocating = freed->allocating;
    record.freed = freed->freeing;
  }
  say_candidate(&record);
  return 1;
}

// A free of what is in no table: freed already, or from before the run, or no block at all. Only of
// a program that was watched from its first instruction on it can be said which.
ALWAYS_INLINE void check_missed(struct pt_regs* ctx, struct process* process, struct block_key* key,
                                struct call_shape shape) {
  if (!process->from_exec && !bpf_map_lookup_elem(&freed_blocks, key)) return;
  say_missed(key, capture(ctx, process, 1), shape.function);
}
