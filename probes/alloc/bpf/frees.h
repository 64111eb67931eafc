// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Handles calls that free a block or a pool.
#pragma once

#include "calls.h"

// Whether this free of an unknown block is part of a free that was seen before. A function with
// `forwards` passes its block on: it calls the next function or jumps to it, with the block's
// address or that of the memory around it.
ALWAYS_INLINE int is_passed_on(struct probe_state* state, u64 sp, u32 function) {
  u64 slot = 0;
  if (!state->passed_on || sp > state->passed_on_sp) return 0;
  if (sp == state->passed_on_sp && function == state->passed_on_by) return 0;
  if (bpf_probe_read_user(&slot, sizeof(slot), (void*)state->passed_on_sp)) return 0;
  return slot == state->passed_on_return;
}

ALWAYS_INLINE void pass_on(struct probe_state* state, u64 address, u64 sp, u32 function) {
  if (is_passed_on(state, sp, function)) return;  // remember the outermost call
  state->passed_on_return = 0;
  bpf_probe_read_user(&state->passed_on_return, sizeof(state->passed_on_return), (void*)sp);
  state->passed_on = address;
  state->passed_on_sp = sp;
  state->passed_on_by = function;
}

// A free of a block that is not in the table.
ALWAYS_INLINE void on_miss(struct pt_regs* ctx, struct process* process, struct thread* thread,
                           struct block_key* key, struct call_shape shape) {
  if (is_own_call(ctx, shape)) return;
  if (thread) {
    struct probe_state* state = &thread->state;
    // The allocator calls free() inside one of its own calls, so this is not the program's free. A
    // realloc() has already taken its old block out.
    if (state->sp && in_flight(state, process->space, ctx->sp)) return;
    if (is_passed_on(state, ctx->sp, shape.function)) return;
    if (shape.forwards) pass_on(state, key->address, ctx->sp, shape.function);
  }
  count_miss(key);
  say_call(process, shape.function, 1, key->address, 0, 0);
  if (own.check) check_missed(ctx, process, key, shape);
}

ALWAYS_INLINE int on_free(struct pt_regs* ctx, struct process* process, struct call_shape shape) {
  int is_go = shape.action == action_free_go;
  u64 address = is_go ? go_argument(ctx, shape.block) : argument(ctx, shape.block);
  u64 pool = is_go ? go_argument(ctx, shape.pool) : argument(ctx, shape.pool);
  u64 here = 0;
  if (pool) {
    if (own.free_stacks) here = capture(ctx, process, 1);
    empty_pool(process->space, pool, here);
  }
  if (!address) return no_return;
  struct block_key key = {.address = address, .space = process->space};
  struct block block;
  if (!taken(&key, &block)) {
    // If not all blocks are kept, an unknown block means nothing.
    if (!counts_misses() && !own.check && !own.trace) return no_return;
    on_miss(ctx, process, shape.forwards ? this_thread() : known_thread(), &key, shape);
    return no_return;
  }
  if (!here && (own.free_stacks || own.check)) here = capture(ctx, process, 1);
  on_freed(&block, process->space, own.free_stacks ? here : 0);
  say_call(process, shape.function, 1, address, block.size, 0);
  if (!shape.forwards && !own.check) return no_return;
  struct thread* thread = this_thread();
  if (thread && shape.forwards) pass_on(&thread->state, address, ctx->sp, shape.function);
  if (own.check) check_freed(thread, &key, &block, here, shape);
  return no_return;
}
