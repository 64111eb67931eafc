// The allocator probe: which stacks own the blocks that were allocated and not freed.
//
// What a probed function takes and gives is in the cookie of its probe (call_shape.h). The
// outermost call of a thread is the one that counts: calloc() that calls malloc() is one block. It
// is recognised by the stack alone: a call is nested while an earlier one's return address still
// lies above it, and a return belongs to the call that it pops. So neither a missed return nor a
// longjmp() out of an allocator can unbalance anything.
//
// A block leaves the live table before free() or realloc() runs and enters it after malloc()
// returned, so an address that another thread gets in between can never be mistaken.
#include "../bpf/kernel.h"
#include "../bpf/shared.h"
#include "call_shape.h"

struct probe_state {
  u64 sp;           // of the outermost call in flight, at its entry; 0 = none
  u64 return_slot;  // what lay there, for a call without a return probe; 0 = the trampoline
  u64 size;         // what it asks for
  u64 probability;  // that such a block is kept; 0 = this one is not
  u64 alignment;    // what it asks for, when sizes are to be as given
  u64 out;          // where the pointer goes; 0 = it is returned
  u64 pool;         // what the block will belong to; 0 = nothing
  u64 key;          // stack
  u64 old_address;  // realloc: the block that was taken out of the table
  struct block old;
  u32 had_old, old_missed;
  u32 space;
  u32 cleared;  // realloc of a kind that frees for size 0, whatever it returns
  struct call_shape shape;
  // The last call of a function that may hand the block it frees on to another one.
  u64 passed_on;         // 0 = none
  u64 passed_on_sp;      // at its entry
  u64 passed_on_return;  // what lay there
  u64 passed_on_by;      // which function
  u64 marked_sp;         // see on_mark()
  u64 marked_block;
  u32 marked_family, freeing_family;
};

#include "blocks.h"
#include "usable.h"
ALWAYS_INLINE void after_exec(u32 space, struct mm_struct* mm) {}
ALWAYS_INLINE void before_thread_exit(u32 space) {}
#include "../bpf/lifecycle.h"
#include "check.h"

enum { ask_for_return, no_return };

ALWAYS_INLINE struct call_shape shape_of(void* ctx) {
  union {
    u64 cookie;
    struct call_shape shape;
  } both = {.cookie = bpf_get_attach_cookie(ctx)};
  return both.shape;
}

// The comments keep clang from making one load of it, at an offset to the context that varies: the
// verifier allows only constant ones.
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

ALWAYS_INLINE u64 size_asked_for(struct pt_regs* ctx, struct call_shape shape) {
  u64 size = argument(ctx, shape.size);
  if (shape.int_size) size = (u32)size;
  if (!shape.count) return size;
  u64 count = argument(ctx, shape.count);
  if (shape.int_size) count = (u32)count;
  u64 product = size * count;
  asm volatile("" : "+r"(product));  // keep clang from making it a 128-bit product
  // A product beyond 64 bits makes the call fail; any size will do then.
  return count && size && product / count != size ? ~0ULL : product;
}

ALWAYS_INLINE u64 alignment_asked_for(struct pt_regs* ctx, struct call_shape shape) {
  if (!config.usable) return 0;
  if (shape.align == aligned_to_page) return jemalloc_page;
  u64 value = argument(ctx, shape.align);
  if (shape.usable != usable_jemalloc_flags) return value;
  return value & 63 ? 1ULL << (value & 63) : 0;
}

// Is the call that was recorded for this thread still on its stack?
ALWAYS_INLINE int in_flight(struct probe_state* call, u32 space, u64 sp) {
  u64 slot = 0;
  if (call->space != space || sp > call->sp) return 0;  // equal after a tail call
  if (bpf_probe_read_user(&slot, sizeof(slot), (void*)call->sp)) return 0;
  if (call->return_slot) return slot == call->return_slot;
  return slot == BPF_CORE_READ(bpf_get_current_task_btf(), mm, uprobes_state.xol_area, vaddr);
}

// A function of its own for its stack, as in check.h.
__attribute__((noinline)) int send_call(u32 space, u64 function_and_frees, u64 address, u64 size,
                                        u64 old) {
  u64 id = bpf_get_current_pid_tgid();
  struct call_record record = {.type = record_call,
                               .space = space,
                               .time = bpf_ktime_get_ns(),
                               .tgid = id >> 32,
                               .tid = id,
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
  if (config.trace) send_call(process->space, function | frees << 32, address, size, old);
}

// The old block of a realloc() that failed, or never said what became of it, is live again.
ALWAYS_INLINE void put_back(struct probe_state* call) {
  struct block_key key = {.address = call->old_address, .space = call->space};
  enter(call->old.hash, &call->old, block_is_gone);
  put(&key, &call->old);
}

// The call that this thread was in ended in another way than by returning: longjmp(), exec,
// cancellation; an exception, where that is what a function does when it fails.
ALWAYS_INLINE void abandon(struct probe_state* call, u32 space) {
  if (!call->shape.own_end) COUNT(abandoned, 1);
  if (call->had_old && call->space == space) put_back(call);
  call->sp = 0;
}

// Where not all blocks are kept, one that is not known is no news.
ALWAYS_INLINE int counts_misses(void) {
  return globals.sampling == sampling_none && !config.min_size && config.max_size == ~0ULL;
}
ALWAYS_INLINE void count_miss(void) {
  if (counts_misses()) COUNT(free_misses, 1);
}

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
      // The same call again: the one before has thrown. Another function: the one before has jumped
      // to it, and if this one can have a return probe, it is this one that returns.
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
    call->had_old = taken(&key, &call->old);
    call->old_missed = !call->had_old;
  }
  u64 p = size >= config.min_size && size <= config.max_size ? probability(size) : 0;
  if (!p || !is_kept(p)) {
    COUNT(passed_over, 1);
    p = 0;
    // What this calls must not be taken for a call of the program's.
    if (shape.leaf && !call->had_old && !config.trace) return no_return;
  }
  call->key = p ? capture(ctx, process, 1) : 0;
  call->probability = p;
  call->size = size;
  call->alignment = alignment_asked_for(ctx, shape);
  call->out = argument(ctx, shape.out);
  call->pool = argument(ctx, shape.pool);
  call->shape = shape;
  call->cleared = shape.always_frees && !size;
  call->space = process->space;
  call->return_slot = 0;
  if (shape.own_end)
    bpf_probe_read_user(&call->return_slot, sizeof(call->return_slot), (void*)ctx->sp);
  if (config.check) check_family_of_call(call, ctx->sp);
  call->sp = ctx->sp;
  return shape.own_end ? no_return : ask_for_return;
}

// The size that a block really has, where its address tells, or the allocator's rules.
ALWAYS_INLINE u64 real_size(struct call_shape shape, u64 address, u64 size, u64 alignment) {
  if (!config.usable) return size;
  if (shape.usable == usable_glibc) {
    // malloc/malloc.c of glibc: the word before a block is the size of its chunk, with three flags.
    // A block's chunk is eight bytes larger than it, and sixteen when it is mapped on its own.
    u64 chunk = 0;
    if (bpf_probe_read_user(&chunk, sizeof(chunk), (void*)(address - 8))) return size;
    return (chunk & ~7ULL) - (chunk & 2 ? 16 : 8);
  }
  if (shape.usable != usable_unknown) return jemalloc_size(size, alignment);
  return size;
}

// `sp`: at the entry of the call that returns.
ALWAYS_INLINE void on_return(struct pt_regs* ctx, struct process* process, u64 sp) {
  struct thread* thread = known_thread();
  if (!thread) return;
  struct probe_state* call = &thread->state;
  if (!call->sp || sp != call->sp) return;  // nested, or began before we watched
  call->sp = 0;

  struct call_shape shape = call->shape;
  u64 address = ctx->ax;
  if (shape.out) {
    address = 0;
    if ((u32)ctx->ax == 0 && bpf_probe_read_user(&address, sizeof(address), (void*)call->out)) {
      COUNT(out_pointer_unread, 1);
      if (call->had_old) put_back(call);
      return;
    }
  }
  if (call->cleared) address = 0;
  say_call(process, shape.function, 0, address, call->size, call->old_address);
  if (call->old_address) {
    // realloc(p, 0) frees p and returns null; any other null is a failure that keeps the block.
    if (!address && call->size) {
      if (call->had_old) put_back(call);
      return;
    }
    if (call->had_old)
      count_freed(&call->old);
    else
      count_miss();
  }
  if (!address || !call->probability) return;
  u64 size = real_size(shape, address, call->size, call->alignment);
  struct block block = {.hash = call->key,
                        .size = size,
                        .weight = weight_of(size, call->probability),
                        .count = count_of(call->probability),
                        .time_ns = config.ages ? bpf_ktime_get_ns() : 0,
                        .function = shape.function,
                        .family = shape.family};
  if (call->probability < certainly) block.seed = bpf_get_prandom_u32();
  COUNT(events, 1);
  COUNT(amount, size);
  count_lost_stack(call->key, size);
  enter(call->key, &block, block_is_new);
  struct block_key key = {.address = address, .space = process->space};
  if (config.check) forget_freed(&key);
  if (call->pool) join_pool(call->pool, &key, &block);
  put(&key, &block);
}

ALWAYS_INLINE void on_end(struct pt_regs* ctx, struct process* process, struct call_shape shape) {
  if (!shape.own_end) return on_return(ctx, process, ctx->sp);
  // Beyond this jump nothing is probed, so it cannot be seen what the call gives.
  struct thread* thread = known_thread();
  if (!thread || thread->state.sp != ctx->sp) return;
  struct probe_state* call = &thread->state;
  COUNT(abandoned, 1);
  if (call->had_old && call->space == process->space) put_back(call);
  call->sp = 0;
}

// What is thrown inside of such a call ends it: its frame is about to be left, and what remains of
// it on the stack must not be taken for a call that goes on.
ALWAYS_INLINE void on_throw(struct pt_regs* ctx, struct process* process) {
  struct thread* thread = known_thread();
  if (!thread) return;
  struct probe_state* call = &thread->state;
  if (call->sp && call->return_slot && in_flight(call, process->space, ctx->sp))
    abandon(call, process->space);
}

// Is this free, of a block that is not known, a part of one that was seen before? A function that
// hands its block on jumps to the next one or calls it, for this address or what lies around it.
ALWAYS_INLINE int is_passed_on(struct probe_state* state, u64 sp, u32 function) {
  u64 slot = 0;
  if (!state->passed_on || sp > state->passed_on_sp) return 0;
  if (sp == state->passed_on_sp && function == state->passed_on_by) return 0;
  if (bpf_probe_read_user(&slot, sizeof(slot), (void*)state->passed_on_sp)) return 0;
  return slot == state->passed_on_return;
}

ALWAYS_INLINE void pass_on(struct probe_state* state, u64 address, u64 sp, u32 function) {
  if (is_passed_on(state, sp, function)) return;  // the outermost one is the one to remember
  state->passed_on_return = 0;
  bpf_probe_read_user(&state->passed_on_return, sizeof(state->passed_on_return), (void*)sp);
  state->passed_on = address;
  state->passed_on_sp = sp;
  state->passed_on_by = function;
}

// A free of a block that is not known.
ALWAYS_INLINE void on_miss(struct pt_regs* ctx, struct process* process, struct thread* thread,
                           struct block_key* key, struct call_shape shape) {
  if (thread) {
    struct probe_state* state = &thread->state;
    // What an allocator frees inside one of its own calls is not the program's doing; realloc() has
    // taken its old block out already.
    if (state->sp && in_flight(state, process->space, ctx->sp)) return;
    if (is_passed_on(state, ctx->sp, shape.function)) return;
    if (shape.forwards) pass_on(state, key->address, ctx->sp, shape.function);
  }
  count_miss();
  say_call(process, shape.function, 1, key->address, 0, 0);
  if (config.check) check_missed(ctx, process, key, shape);
}

ALWAYS_INLINE int on_free(struct pt_regs* ctx, struct process* process, struct call_shape shape) {
  u64 address = argument(ctx, shape.block), pool = argument(ctx, shape.pool);
  if (pool) empty_pool(process->space, pool);
  if (!address) return no_return;
  struct block_key key = {.address = address, .space = process->space};
  struct block block;
  if (!taken(&key, &block)) {
    // Where not all blocks are kept, one that is not known is nothing to look into.
    if (!counts_misses() && !config.check && !config.trace) return no_return;
    on_miss(ctx, process, shape.forwards ? this_thread() : known_thread(), &key, shape);
    return no_return;
  }
  count_freed(&block);
  say_call(process, shape.function, 1, address, block.size, 0);
  if (!shape.forwards && !config.check) return no_return;
  struct thread* thread = this_thread();
  if (thread && shape.forwards) pass_on(&thread->state, address, ctx->sp, shape.function);
  if (config.check) check_freed(ctx, process, thread, &key, &block, shape);
  return no_return;
}

// With --max-overhead: what the programs cost the target. One run in sixteen is timed.
enum { timed_runs = 16 };
ALWAYS_INLINE u64 start_clock(void) {
  if (!config.governed || bpf_get_prandom_u32() % timed_runs != 0) return 0;
  return bpf_ktime_get_ns();
}

ALWAYS_INLINE void stop_clock(u64 start) {
  if (!start) return;
  COUNT(timed_runs, 1);
  COUNT(timed_ns, bpf_ktime_get_ns() - start);
}

ALWAYS_INLINE int on_action(struct pt_regs* ctx, struct process* process, struct call_shape shape) {
  switch (shape.action) {
    case action_allocate:
      return on_allocate(ctx, process, shape);
    case action_free:
      return on_free(ctx, process, shape);
    case action_end:
      on_end(ctx, process, shape);
      return no_return;
    case action_throw:
      on_throw(ctx, process);
      return no_return;
    case action_mark:
      if (config.check) on_mark(ctx, shape);
  }
  return no_return;
}

ALWAYS_INLINE int on_entry(struct pt_regs* ctx) {
  struct process* process = current_process();
  if (!process) return no_return;
  struct call_shape shape = shape_of(ctx);
  u64 start = start_clock();
  int wanted = on_action(ctx, process, shape);
  stop_clock(start);
  if (config.governed) {
    COUNT(entries, 1);
    if (shape.stepped) COUNT(stepped, 1);
  }
  return wanted;
}

ALWAYS_INLINE int on_return_probe(struct pt_regs* ctx) {
  struct process* process = current_process();
  if (!process) return 0;
  u64 start = start_clock();
  on_return(ctx, process, ctx->sp - 8);
  stop_clock(start);
  if (config.governed) COUNT(returns, 1);
  return 0;
}

// Blocks that the program's own allocator has sampled: each stands for `weight` bytes.
ALWAYS_INLINE void seen_allocation(struct pt_regs* ctx, struct process* process, u64 address,
                                   u64 size, u64 weight) {
  if (weight < size) weight = size;
  u64 key = capture(ctx, process, 0);
  struct block block = {.hash = key,
                        .size = size,
                        .weight = weight,
                        .count = size ? (weight + size / 2) / size : 1,
                        .time_ns = config.ages ? bpf_ktime_get_ns() : 0,
                        .function = function_of_program,
                        .seed = bpf_get_prandom_u32()};
  COUNT(events, 1);
  COUNT(amount, size);
  count_lost_stack(key, weight);
  enter(key, &block, block_is_new);
  struct block_key at = {.address = address, .space = process->space};
  put(&at, &block);
  say_call(process, function_of_program, 0, address, size, 0);
}

ALWAYS_INLINE void seen_free(struct pt_regs* ctx, struct process* process, u64 address) {
  struct block_key key = {.address = address, .space = process->space};
  struct block block = {};
  if (taken(&key, &block))
    count_freed(&block);
  else
    COUNT(free_misses, 1);
  say_call(process, function_of_program, 1, address, block.size, 0);
}
#include "usdt.bpf.h"

SEC("uprobe")
int memflame_alloc_enter(struct pt_regs* ctx) {
  on_entry(ctx);
  return 0;
}

SEC("uretprobe")
int memflame_alloc_return(struct pt_regs* ctx) { return on_return_probe(ctx); }

// Both in one, where the kernel has session probes: what it returns at the entry says whether the
// return is wanted. At the entry the instruction is the one that is probed.
SEC("uprobe")
int memflame_alloc_session(struct pt_regs* ctx) {
  if (ctx->ip == bpf_get_func_ip(ctx)) return on_entry(ctx);
  return on_return_probe(ctx);
}
