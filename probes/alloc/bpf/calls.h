// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The meaning of a call at a probe: its arguments, whether it is nested in another call, and how it
// can end without returning.
#pragma once

#include "blocks.h"
#include "origins.h"
#include "usable.h"

enum { ask_for_return, no_return };

ALWAYS_INLINE struct call_shape shape_of(void* ctx) {
  union {
    u64 cookie;
    struct call_shape shape;
  } both = {.cookie = bpf_get_attach_cookie(ctx)};
  return both.shape;
}

// The verifier allows only loads at constant offsets from the context. A different comment in each
// asm statement keeps clang from merging the loads into one at a varying offset.
#define REGISTER(name)                       \
  ({                                         \
    u64 value_ = ctx->name;                  \
    asm volatile("# " #name : "+r"(value_)); \
    value_;                                  \
  })

ALWAYS_INLINE u64 argument(struct pt_regs* ctx, u32 number) {
  switch (number) {
    case 1:
      return REGISTER(di);
    case 2:
      return REGISTER(si);
    case 3:
      return REGISTER(dx);
    case 4:
      return REGISTER(cx);
    case 5:
      return REGISTER(r8);
    case 6:
      return REGISTER(r9);
  }
  return 0;
}

// The registers of Go's ABIInternal (cmd/compile/abi-internal.md).
ALWAYS_INLINE u64 go_argument(struct pt_regs* ctx, u32 number) {
  switch (number) {
    case 1:
      return REGISTER(ax);
    case 2:
      return REGISTER(bx);
    case 3:
      return REGISTER(cx);
    case 4:
      return REGISTER(di);
    case 5:
      return REGISTER(si);
    case 6:
      return REGISTER(r8);
  }
  return 0;
}

ALWAYS_INLINE u64 size_asked_for(struct pt_regs* ctx, struct call_shape shape) {
  u64 size = argument(ctx, shape.size);
  if (shape.int_size) size = (u32)size;
  if (!shape.count) return size;
  u64 count = argument(ctx, shape.count);
  if (shape.int_size) count = (u32)count;
  u64 product = size * count;
  asm volatile("" : "+r"(product));  // keep clang from making it a 128-bit product
  // If the product overflows, the call fails, so any size will do.
  return count && size && product / count != size ? ~0ULL : product;
}

ALWAYS_INLINE u64 alignment_asked_for(struct pt_regs* ctx, struct call_shape shape) {
  if (!own.usable) return 0;
  if (shape.align == aligned_to_page) return jemalloc_page;
  u64 value = argument(ctx, shape.align);
  if (shape.usable != usable_jemalloc_flags) return value;
  return value & 63 ? 1ULL << (value & 63) : 0;
}

// Whether the call recorded for this thread is still on its stack: its slot still holds its return
// address or, with a return probe, that of the kernel's trampoline, which is at the start of the
// process's xol_area.
ALWAYS_INLINE int in_flight(struct probe_state* call, u32 space, u64 sp) {
  u64 slot = 0;
  if (call->space != space || sp > call->sp) return 0;  // equal after a tail call
  if (bpf_probe_read_user(&slot, sizeof(slot), (void*)call->sp)) return 0;
  if (call->return_slot) return slot == call->return_slot;
  return slot == BPF_CORE_READ(bpf_get_current_task_btf(), mm, uprobes_state.xol_area, vaddr);
}

// A function of its own, so that the record has a stack frame of its own (see check.h).
__attribute__((noinline)) int send_call(u32 space, u64 function_and_frees, u64 address, u64 size,
                                        u64 old) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct call_record record = {.type = OF_PROBE(record_call),
                               .space = space,
                               .time = bpf_ktime_get_ns(),
                               .tgid = shown_tgid(task),
                               .tid = shown_tid(task),
                               .function = function_and_frees,
                               .frees = function_and_frees >> 32,
                               .address = address,
                               .size = size,
                               .old = old};
  bpf_get_current_comm(record.comm, sizeof(record.comm));
  if (bpf_ringbuf_output(&ring, &record, sizeof(record), wake_if_filling())) COUNT(event_drops, 1);
  return 1;
}

ALWAYS_INLINE void say_call(struct process* process, u32 function, u64 frees, u64 address, u64 size,
                            u64 old) {
  if (own.trace) send_call(process->space, function | frees << 32, address, size, old);
}

// Makes the old block of a realloc() live again, if the call failed or its end was not seen. A
// function of its own, as its callers have no room on the program's stack.
static __attribute__((noinline)) int put_back(struct probe_state* call) {
  struct block_key key = {.address = call->old_address, .space = call->space};
  enter(call->old.hash, &call->old, block_is_gone);
  if (!put(&key, &call->old) && own.events) lose_event();
  say_put_back();
  return 0;
}

// What became of the old block of a realloc() is known, and was told.
ALWAYS_INLINE void settle_old(struct probe_state* call) {
  if (call->had_old) settle(call->old_address, call->space, &call->old);
}

// This thread's call ended without returning: by longjmp(), exec or cancellation, or by an
// exception. An exception is how a function with own_end fails, so it does not count as abandoned.
ALWAYS_INLINE void abandon(struct probe_state* call, u32 space) {
  if (!call->shape.own_end) COUNT(own[alloc_abandoned], 1);
  if (call->had_old && call->space == space) put_back(call);
  settle_old(call);
  call->sp = 0;
}

// If not all blocks are kept, a free of an unknown block means nothing.
ALWAYS_INLINE int counts_misses(void) {
  return rate.sampling == sampling_none && !config.min_size && config.max_size == ~0ULL;
}
ALWAYS_INLINE void count_miss(const struct block_key* key) {
  if (counts_misses()) count_missing(key);
}
