// The allocator probe: which stacks own the blocks that were allocated and not freed.
//
// The outermost call of a thread is the one that counts: calloc() that calls malloc() is one block.
// It is recognised by the stack alone: a call is nested while an earlier one's return address (the
// return probe's trampoline) still lies above it, and a return belongs to the call that it pops. So
// neither a missed return nor a longjmp() out of an allocator can unbalance anything.
//
// A block leaves the live table before free() or realloc() runs and enters it after malloc()
// returned, so an address that another thread gets in between can never be mistaken.
#include "../bpf/kernel.h"
#include "../bpf/shared.h"

struct probe_state {
  u64 sp;           // of the outermost call in flight, at its entry; 0 = none
  u64 size;         // what it asks for
  u64 out;          // posix_memalign: where the pointer goes
  u64 key;          // stack
  u64 old_address;  // realloc: the block that was taken out of the table
  struct block old;
  u32 had_old, old_missed;
  u32 space;
  u32 function;
};

#include "../bpf/capture.h"
ALWAYS_INLINE void after_exec(u32 space, struct mm_struct* mm) {}
ALWAYS_INLINE void before_thread_exit(u32 space) {}
#include "../bpf/lifecycle.h"

enum { live, live_count, total, total_count };

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 1 << 20);  // user space sets it before load
  __type(key, struct block_key);
  __type(value, struct block);
} blocks SEC(".maps");

ALWAYS_INLINE int taken(struct block_key* key, struct block* block) {
  struct block* found = bpf_map_lookup_elem(&blocks, key);
  if (!found) return 0;
  *block = *found;
  // Two threads that free one address race to this delete: only the one that wins owns the block.
  return bpf_map_delete_elem(&blocks, key) == 0;
}

ALWAYS_INLINE void add_live(u64 key, s64 bytes, s64 count) {
  account(key, live, bytes);
  account(key, live_count, count);
}

ALWAYS_INLINE void put(struct block_key* key, struct block* block) {
  long error = insert(&blocks, key, block);
  if (error == exists) {
    // An address that is allocated again: the free of the old block went unseen (a custom free
    // path, or a skipped probe). It cannot be live any more.
    struct block old;
    if (taken(key, &old)) {
      add_live(old.hash, -(s64)old.size, -1);
      COUNT(unseen_frees, 1);
    }
    error = insert(&blocks, key, block);
  }
  if (error) {
    COUNT(live_full_events, 1);
    COUNT(live_full_bytes, block->size);
    add_live(note_key(key->space, note_live_table_full), block->size, 1);
    return;
  }
  add_live(block->hash, block->size, 1);
}

// Is the call that was recorded for this thread still on its stack?
ALWAYS_INLINE int in_flight(struct task_struct* task, struct probe_state* call, u32 space, u64 sp) {
  u64 slot = 0;
  if (call->space != space || sp > call->sp) return 0;  // equal after a tail call
  if (bpf_probe_read_user(&slot, sizeof(slot), (void*)call->sp)) return 0;
  return slot == BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
}

// realloc() never said what became of the block it took: as far as we know it was not freed.
ALWAYS_INLINE void put_back(struct probe_state* call) {
  struct block_key key = {.address = call->old_address, .space = call->space};
  add_live(call->old.hash, -(s64)call->old.size, -1);
  put(&key, &call->old);
}

SEC("uprobe")
int memflame_alloc_enter(struct pt_regs* ctx) {
  struct process* process = current_process();
  if (!process) return 0;
  struct task_struct* task = bpf_get_current_task_btf();
  struct thread* thread = this_thread();
  u32 function = bpf_get_attach_cookie(ctx);
  if (!thread) {
    COUNT(no_state_events, 1);
    return 0;
  }
  struct probe_state* call = &thread->state;
  if (call->sp) {
    if (in_flight(task, call, process->space, ctx->sp)) return 0;  // nested
    COUNT(abandoned, 1);  // left without returning: longjmp, exec, cancellation
    if (call->had_old && call->space == process->space) put_back(call);
  }
  u64 a = ctx->di, b = ctx->si, c = ctx->dx, size = a;
  call->had_old = 0;
  call->out = 0;
  switch (function) {
    case fn_calloc:
    case fn_reallocarray: {
      u64 count = function == fn_calloc ? a : b, each = function == fn_calloc ? b : c;
      size = count * each;
      asm volatile("" : "+r"(size));  // keep clang from making it a 128-bit product
      // A product beyond 64 bits makes the call fail; any size will do then.
      if (count && each && size / count != each) size = ~0ULL;
      break;
    }
    case fn_realloc:
    case fn_aligned:
      size = b;
      break;
    case fn_posix_memalign:
      size = c;
      call->out = a;
      break;
  }
  if ((function == fn_realloc || function == fn_reallocarray) && a) {
    struct block_key key = {.address = a, .space = process->space};
    call->old_address = a;
    call->had_old = taken(&key, &call->old);
    call->old_missed = !call->had_old;
  } else {
    call->old_address = 0;
    call->old_missed = 0;
  }
  call->key = capture(ctx, process, 1);
  call->function = function;
  call->size = size;
  call->space = process->space;
  call->sp = ctx->sp;
  return 0;
}

SEC("uretprobe")
int memflame_alloc_return(struct pt_regs* ctx) {
  struct process* process = current_process();
  if (!process) return 0;
  struct thread* thread = known_thread();
  if (!thread) return 0;
  struct probe_state* call = &thread->state;
  if (!call->sp || ctx->sp != call->sp + 8) return 0;  // nested, or began before we watched
  call->sp = 0;

  u64 address = ctx->ax;
  if (call->function == fn_posix_memalign) {
    address = 0;
    if ((u32)ctx->ax == 0 && bpf_probe_read_user(&address, sizeof(address), (void*)call->out)) {
      COUNT(out_pointer_unread, 1);
      return 0;
    }
  }
  if (call->old_address) {
    // realloc(p, 0) frees p and returns null; any other null is a failure that keeps the block.
    if (!address && call->size) {
      if (call->had_old) put_back(call);
      return 0;
    }
    COUNT(frees, 1);
    if (call->had_old) {
      add_live(call->old.hash, -(s64)call->old.size, -1);
      COUNT(freed_bytes, call->old.size);
    } else if (call->old_missed) {
      COUNT(free_misses, 1);
    }
  }
  if (!address) return 0;
  COUNT(events, 1);
  COUNT(amount, call->size);
  count_lost_stack(call->key, call->size);
  account(call->key, total, call->size);
  account(call->key, total_count, 1);
  struct block_key key = {.address = address, .space = process->space};
  struct block block = {.size = call->size, .hash = call->key};
  put(&key, &block);
  return 0;
}

SEC("uprobe")
int memflame_free_enter(struct pt_regs* ctx) {
  struct process* process = current_process();
  if (!process || !ctx->di) return 0;
  struct thread* thread = known_thread();
  // What an allocator frees inside one of its own calls is not the program's doing; realloc() has
  // taken its old block out already.
  if (thread && thread->state.sp &&
      in_flight(bpf_get_current_task_btf(), &thread->state, process->space, ctx->sp))
    return 0;
  struct block_key key = {.address = ctx->di, .space = process->space};
  struct block block;
  COUNT(frees, 1);
  if (!taken(&key, &block)) {
    COUNT(free_misses, 1);
    return 0;
  }
  COUNT(freed_bytes, block.size);
  add_live(block.hash, -(s64)block.size, -1);
  return 0;
}
