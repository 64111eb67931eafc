// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The allocator probe: which stacks own the blocks that were allocated and not freed.
//
// What a probed function takes and returns is in the cookie of its probe (call_shape.h). The
// outermost call of a thread counts: a calloc() that calls malloc() is one block. The outermost
// call is recognised by the stack alone: a call is nested while an earlier call's return address
// still lies above it, and a return belongs to the call whose return address it pops. So neither a
// missed return nor a longjmp() out of an allocator can unbalance anything.
//
// A block leaves the live table before free() or realloc() runs, and enters it after malloc() has
// returned. So if another thread gets the address in between, the two blocks are not mixed up.
#include "../bpf/kernel_structs.h"
#include "../bpf/shared.h"
#include "bpf/call_shape.h"
#include "bpf/config.h"

const volatile struct alloc_config own SEC(".rodata.own") = {};
struct rate rate SEC(".data.own") = {};

struct probe_state {
  u64 sp;           // of the outermost call in flight, at its entry; 0 = none
  u64 return_slot;  // without a return probe: the return address at sp; 0 = the trampoline
  u64 size;         // requested
  u64 probability;  // with which such a block is kept; 0 = this one is not
  u64 alignment;    // requested; only for usable sizes
  u64 out;          // the address that the pointer is written to; 0 = it is returned
  u64 pool;         // that the block will belong to; 0 = none
  u64 since;        // when the call began; 0 unless asked for
  u64 key;          // of the stack
  u64 old_address;  // realloc: the block that was taken out of the table
  struct block old;
  u32 had_old, old_missed;
  u32 space;
  u32 cleared;  // a realloc() that frees its block because size is 0, whatever it returns
  struct call_shape shape;
  // The last call of a function that may pass the block it frees on to another function.
  u64 passed_on;         // the block's address; 0 = none
  u64 passed_on_sp;      // at the call's entry
  u64 passed_on_return;  // the return address that lay there
  u64 passed_on_by;      // the function
  u64 marked_sp;         // see on_mark()
  u64 marked_block;
  u32 marked_family, freeing_family;
  u32 freeing_mark;  // the function whose mark set freeing_family, plus one
};

#include "bpf/origins.h"
ALWAYS_INLINE void before_thread_exit(u32 space) {}
#include "../bpf/lifecycle.h"
#include "bpf/calls.h"
#include "bpf/clock.h"
#include "bpf/first_touch.h"
#include "bpf/frees.h"
#include "bpf/own_samples.h"

ALWAYS_INLINE int on_allocate(struct pt_regs* ctx, struct process* process,
                              struct call_shape shape) {
  struct thread* thread = this_thread();
  if (!thread) {
    COUNT(no_state_events, 1);
    return no_return;
  }
  struct probe_state* call = &thread->state;
  if (call->sp) {
    int nested = in_flight(call, process->space, ctx->sp);
    if (nested && ctx->sp == call->sp && call->return_slot) {
      // The same function at the same rsp: the earlier call has thrown. Another function: the
      // earlier call has jumped to it; if it can have a return probe, its return ends the call.
      if (call->shape.function == shape.function) {
        nested = 0;
      } else if (!shape.own_end) {
        call->return_slot = 0;
        return ask_for_return;
      }
    }
    if (nested) return no_return;
    abandon(call, process->space);
  }
  u64 size = size_asked_for(ctx, shape);
  call->had_old = 0;
  call->old_missed = 0;
  call->old_address = argument(ctx, shape.block);
  if (call->old_address) {
    struct block_key key = {.address = call->old_address, .space = process->space};
    call->had_old = taken_to_move(&key, &call->old);
    call->old_missed = !call->had_old;
  }
  u64 p = size >= config.min_size && size <= config.max_size ? probability(size) : 0;
  if (!p || !is_kept(p)) {
    COUNT(passed_over, 1);
    p = 0;
    // Follow the call all the same: calls inside of it must not count as the program's. A leaf
    // makes none.
    if (shape.leaf && !call->had_old && !own.trace) return no_return;
  }
  call->probability = p;
  call->size = size;
  call->alignment = alignment_asked_for(ctx, shape);
  call->out = argument(ctx, shape.out);
  call->pool = argument(ctx, shape.pool);
  call->since = own.first_touch ? bpf_ktime_get_ns() : 0;
  call->shape = shape;
  call->cleared = shape.always_frees && !size;
  call->space = process->space;
  call->return_slot = 0;
  if (shape.own_end)
    bpf_probe_read_user(&call->return_slot, sizeof(call->return_slot), (void*)ctx->sp);
  if (own.check) check_family_of_call(call, ctx->sp);
  // Last, so that little has to be kept on the program's stack meanwhile. If a block ends here
  // without a new one, it is the stack of its free.
  const int result = shape.own_end ? no_return : ask_for_return;
  call->key = p || (own.free_stacks && call->had_old) ? capture(ctx, process, 1) : 0;
  call->sp = ctx->sp;
  return result;
}

// A block's usable size, if the word before it or the allocator's rules tell it.
ALWAYS_INLINE u64 real_size(struct call_shape shape, u64 address, u64 size, u64 alignment) {
  if (!own.usable) return size;
  if (shape.usable == usable_glibc) {
    // glibc, malloc/malloc.c: the word before a block is the size of its chunk, with three flags. A
    // chunk is 8 bytes larger than its block, or 16 bytes if it has a mapping of its own.
    u64 chunk = 0;
    if (bpf_probe_read_user(&chunk, sizeof(chunk), (void*)(address - 8))) return size;
    return (chunk & ~7ULL) - (chunk & 2 ? 16 : 8);
  }
  if (shape.usable != usable_unknown) return jemalloc_size(size, alignment);
  return size;
}

// With first touches, a block begins with its call, in which calloc() touches it, and a block that
// realloc() leaves where it is goes on.
ALWAYS_INLINE u64 birth_of(struct probe_state* call, u64 address) {
  if (own.first_touch)
    return call->had_old && address == call->old_address ? call->old.time_ns : call->since;
  return own.ages ? bpf_ktime_get_ns() : 0;
}

// The outermost call has returned.
ALWAYS_INLINE void on_result(struct pt_regs* ctx, struct process* process,
                             struct probe_state* call) {
  struct call_shape shape = call->shape;
  u64 address = ctx->ax;
  if (shape.out) {
    address = 0;
    if ((u32)ctx->ax == 0 && bpf_probe_read_user(&address, sizeof(address), (void*)call->out)) {
      COUNT(own[alloc_out_pointer_unread], 1);
      if (call->had_old) put_back(call);
      return;
    }
  }
  if (call->cleared) address = 0;
  const u64 free_stack = own.free_stacks ? call->key : 0;
  say_call(process, shape.function, 0, address, call->size, call->old_address);
  if (call->old_address) {
    // realloc(p, 0) frees p and returns null; any other null is a failure that keeps the block.
    if (!address && call->size) {
      if (call->had_old) put_back(call);
      return;
    }
    // With events, the block that continues this one tells of its end.
    if (call->had_old && address && call->probability)
      count_freed(&call->old);
    else if (call->had_old)
      on_freed(&call->old, process->space, free_stack);
    else
      count_miss(&(struct block_key){.address = call->old_address, .space = process->space});
  }
  if (!address || !call->probability) return;
  u64 size = real_size(shape, address, call->size, call->alignment);
  struct block block = {.hash = call->key,
                        .size = size,
                        .weight = weight_of(size, call->probability),
                        .count = count_of(call->probability),
                        .time_ns = birth_of(call, address),
                        .function = shape.function,
                        .family = shape.family};
  if (call->probability < certainly) block.seed = bpf_get_prandom_u32();
  block.number = new_number();
  COUNT(events, 1);
  COUNT(amount, size);
  count_lost_stack(call->key, size);
  enter(call->key, &block, block_is_new);
  struct block_key key = {.address = address, .space = process->space};
  if (own.check) forget_freed(&key);
  if (call->pool) join_pool(call->pool, &key, &block);
  const u64 moved = call->had_old ? call->old.number : 0;
  const int is_live = put(&key, &block);
  if (!own.events) return;
  if (is_live)
    send_begin(&block, address, moved);
  else if (moved)
    send_end(moved, process->space, free_stack);
}

// `sp` is that at the entry of the call that returns.
ALWAYS_INLINE void on_return(struct pt_regs* ctx, struct process* process, u64 sp) {
  struct thread* thread = known_thread();
  if (!thread) return;
  struct probe_state* call = &thread->state;
  if (!call->sp || sp != call->sp) return;  // nested, or began before memflame watched
  call->sp = 0;
  on_result(ctx, process, call);
  settle_old(call);
}

ALWAYS_INLINE void on_end(struct pt_regs* ctx, struct process* process, struct call_shape shape) {
  if (!shape.own_end) return on_return(ctx, process, ctx->sp);
  // Nothing is probed behind this jump, so the call's result is not seen.
  struct thread* thread = known_thread();
  if (!thread || thread->state.sp != ctx->sp) return;
  struct probe_state* call = &thread->state;
  COUNT(own[alloc_abandoned], 1);
  if (call->had_old && call->space == process->space) put_back(call);
  settle_old(call);
  call->sp = 0;
}

// An exception ends an open call that may throw: its frame is about to be left, and what remains on
// the stack must not look like an open call.
ALWAYS_INLINE void on_throw(struct pt_regs* ctx, struct process* process) {
  struct thread* thread = known_thread();
  if (!thread) return;
  struct probe_state* call = &thread->state;
  if (call->sp && call->return_slot && in_flight(call, process->space, ctx->sp))
    abandon(call, process->space);
}

ALWAYS_INLINE int on_action(struct pt_regs* ctx, struct process* process, struct call_shape shape) {
  switch (shape.action) {
    case action_allocate:
      return on_allocate(ctx, process, shape);
    case action_free:
    case action_free_go:
      return on_free(ctx, process, shape);
    case action_end:
      on_end(ctx, process, shape);
      return no_return;
    case action_throw:
      on_throw(ctx, process);
      return no_return;
    case action_mark:
      if (own.check) on_mark(ctx, shape);
  }
  return no_return;
}

ALWAYS_INLINE int on_entry(struct pt_regs* ctx, int only_frees) {
  struct process* process = current_process();
  if (!process) return no_return;
  struct call_shape shape = shape_of(ctx);
  if (own.count_calls && shape.action != action_end) count_call(shape.function);
  u64 start = start_clock();
  int wanted = only_frees ? on_free(ctx, process, shape) : on_action(ctx, process, shape);
  stop_clock(start);
  if (own.governed) {
    COUNT(own[alloc_entries], 1);
    if (shape.stepped) COUNT(own[alloc_stepped], 1);
  }
  return wanted;
}

ALWAYS_INLINE int on_return_probe(struct pt_regs* ctx) {
  struct process* process = current_process();
  if (!process) return 0;
  u64 start = start_clock();
  on_return(ctx, process, ctx->sp - 8);
  stop_clock(start);
  if (own.governed) COUNT(own[alloc_returns], 1);
  return 0;
}

// Entry and return in one program, where the kernel has session probes. Its result at the entry
// says whether the return is wanted. At the entry rip is the probed address. It takes
// the verifier longest, so it is the first one: others are loaded meanwhile.
SEC("uprobe")
int memflame_alloc_session(struct pt_regs* ctx) {
  if (ctx->ip == bpf_get_func_ip(ctx)) return on_entry(ctx, 0);
  return on_return_probe(ctx);
}

SEC("uprobe")
int memflame_alloc_enter(struct pt_regs* ctx) {
  on_entry(ctx, 0);
  return 0;
}

// For functions that only free. Most frees take no stack: the verifier is soon done with this.
SEC("uprobe")
int memflame_alloc_free(struct pt_regs* ctx) {
  on_entry(ctx, 1);
  return 0;
}

SEC("raw_tp/page_fault_user")
int memflame_touch_user(struct bpf_raw_tracepoint_args* ctx) { return on_touch(ctx); }

// Faults the kernel takes on a user address on behalf of the task: read(2) into a fresh buffer.
SEC("raw_tp/page_fault_kernel")
int memflame_touch_kernel(struct bpf_raw_tracepoint_args* ctx) {
  struct task_struct* task = bpf_get_current_task_btf();
  // Reads that must not sleep (such as our own stack walks) fail instead of making a page resident.
  if (ctx->args[0] >= 1ULL << 47 || !task->mm || task->pagefault_disabled) return 0;
  return on_touch(ctx);
}

SEC("uretprobe")
int memflame_alloc_return(struct pt_regs* ctx) { return on_return_probe(ctx); }
