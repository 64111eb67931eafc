// capture(): from user registers to the hash of a call stack that user space knows. Every *.bpf.c
// includes this after its `struct probe_state` (what the probe keeps per thread).
//
// A distinct stack crosses the ring buffer once ("announce"); after that only its hash is used. A
// stack that cannot be walked here, because the tables of its code are still to come or because the
// user has asked for it, is copied instead: then each event has a key of its own, and its figures go
// to user space one by one.
#pragma once

#include "kernel.h"
#include "shared.h"
#include "walk.h"

char license_name[] SEC("license") = "GPL";

const volatile struct config config = {};

struct thread {
  struct probe_state state;
};

// By pid_tgid. Not task storage: before 6.2 its look-up fails when it interrupts another one on the
// same CPU, and programs on uprobes can be preempted.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 65536);
  __type(key, u64);
  __type(value, struct thread);
} threads SEC(".maps");

// All zeros, to begin a thread with: the value is larger than a program's stack.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct thread);
} new_thread SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 65536);
  __type(key, u32);
  __type(value, struct process);
} processes SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 262144);
  __type(key, u32);
  __type(value, struct space);
} spaces SEC(".maps");

// Preallocated: a stack that finds no room at its first event would be lost for nothing.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 131072);  // user space sets it before load
  __type(key, u64);
  __type(value, struct sum);
} sums SEC(".maps");

// The sums of notes have a table of their own, so that they find room when the stacks' is full.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 65536);
  __type(key, u64);
  __type(value, struct sum);
} notes SEC(".maps");

// Where a stack is put together. Not per CPU: programs on uprobes can be preempted, so a buffer is
// claimed and given back.
struct scratch {
  u32 busy;
  u32 returned;  // as in copy_record
  u64 ip;        // where the user's part begins
  struct walk walk;
  struct stack_record stack;
};
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);  // user space sets it before load, also below
  __type(key, u32);
  __type(value, struct scratch);
} scratches SEC(".maps");

struct copy {
  u32 busy;
  u32 pad;
  struct copy_record record;
};
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct copy);
} copies SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 16 << 20);
} ring SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct counters);
} counters SEC(".maps");

// The only writable globals, so that user space finds them at the start of .bss.
struct globals globals = {};

// Programs on uprobes may be preempted by another task on the same CPU, so even per-CPU counters
// need an atomic addition.
#define COUNT(field, n)                                           \
  do {                                                            \
    u32 zero_ = 0;                                                \
    struct counters* c_ = bpf_map_lookup_elem(&counters, &zero_); \
    if (c_) __sync_fetch_and_add(&c_->field, (u64)(n));           \
  } while (0)

ALWAYS_INLINE u64 note_key(u32 space, enum note note) { return (u64)space << 8 | note; }

// The traced process that runs now, or null.
ALWAYS_INLINE struct process* current_process(void) {
  u32 tgid = bpf_get_current_pid_tgid() >> 32;
  struct process* process = bpf_map_lookup_elem(&processes, &tgid);
  return process && !process->waits_for_exec && globals.armed ? process : 0;
}

enum { exists = -17 /* EEXIST */, full = -7 /* E2BIG */ };

// Adds an entry. Apart from a full table, that fails for a moment only, when the kernel's stock of
// map elements is used up in a burst: an interrupt that comes at once fills it up again.
ALWAYS_INLINE long insert(void* map, const void* key, const void* value) {
  long error = 0;
  for (int attempt = 0; attempt < 8; ++attempt) {
    error = bpf_map_update_elem(map, key, value, BPF_NOEXIST);
    if (!error || error == exists || error == full) break;
  }
  return error;
}

// State of the running thread, or null when it has none yet.
ALWAYS_INLINE struct thread* known_thread(void) {
  u64 id = bpf_get_current_pid_tgid();
  return bpf_map_lookup_elem(&threads, &id);
}

// The same, made when there is none; null when there is no room.
ALWAYS_INLINE struct thread* this_thread(void) {
  struct thread* thread = known_thread();
  if (thread) return thread;
  u64 id = bpf_get_current_pid_tgid();
  u32 zero = 0;
  struct thread* empty = bpf_map_lookup_elem(&new_thread, &zero);
  if (empty) insert(&threads, &id, empty);
  return bpf_map_lookup_elem(&threads, &id);
}

ALWAYS_INLINE u64 mix(u64 hash, u64 word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
  return hash ^ hash >> 32;
}

ALWAYS_INLINE u64 wake_if_filling(void) {
  return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > config.wake_bytes ? BPF_RB_FORCE_WAKEUP
                                                                         : BPF_RB_NO_WAKEUP;
}

// What follows is made of global functions (see walk.h), which take and return numbers: of an entry in
// `scratches` or `copies`, plus one; 0 is none.

// Claims an entry of a map whose values begin with `busy`, beginning at this CPU's.
ALWAYS_INLINE u32 claim(void* map, u32 entries) {
  u32 cpu = bpf_get_smp_processor_id();
  for (u32 i = 0; i < 64 && i < entries; ++i) {
    u32 at = (cpu + i) % entries;
    u32* busy = bpf_map_lookup_elem(map, &at);
    if (busy && __sync_val_compare_and_swap(busy, 0, 1) == 0) return at + 1;
  }
  return 0;
}
__attribute__((noinline)) u32 claim_scratch(void) { return claim(&scratches, config.scratches); }
__attribute__((noinline)) u32 claim_copy(void) { return claim(&copies, config.copies); }

ALWAYS_INLINE struct scratch* scratch_at(u32 number) {
  u32 at = number - 1;
  return bpf_map_lookup_elem(&scratches, &at);
}

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

// The page that the kernel adds to a process with uprobes is faulted in like any other. There a program
// is either at the trampoline, as a function that a return probe waits for has returned and it is to
// go on where that was called; or it runs an instruction in whose place a breakpoint is.
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

// Registers and stack of the current task, to be walked in user space. Returns the key that stands
// for the stack; 0 when it could not be sent.
__attribute__((noinline)) u64 send_copy(u32 number, u32 entry, u64 checks) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  struct scratch* scratch = scratch_at(number);
  u32 at_copy = claim_copy() - 1;
  struct copy* copy = bpf_map_lookup_elem(&copies, &at_copy);
  if (!copy) return 0;
  if (!scratch) {
    copy->busy = 0;
    return 0;
  }
  struct stack_record* stack = &scratch->stack;
  struct copy_record* record = &copy->record;
  u64 key = checks;
  if (!key)
    key = mix(mix(bpf_ktime_get_ns(), bpf_get_current_pid_tgid()), bpf_get_prandom_u32()) |
          3ULL << 62;
  record->type = record_copy;
  record->space = stack->space;
  record->key = key;
  record->time = bpf_ktime_get_ns();
  record->tgid = bpf_get_current_pid_tgid() >> 32;
  record->entry = entry;
  record->checks = checks != 0;
  bpf_probe_read_kernel_str(record->comm, sizeof(record->comm), task->group_leader->comm);
  record->regs[0] = regs->ax;
  record->regs[1] = regs->dx;
  record->regs[2] = regs->cx;
  record->regs[3] = regs->bx;
  record->regs[4] = regs->si;
  record->regs[5] = regs->di;
  record->regs[dwarf_rbp] = regs->bp;
  record->regs[dwarf_rsp] = regs->sp;
  record->regs[8] = regs->r8;
  record->regs[9] = regs->r9;
  record->regs[10] = regs->r10;
  record->regs[11] = regs->r11;
  record->regs[12] = regs->r12;
  record->regs[13] = regs->r13;
  record->regs[14] = regs->r14;
  record->regs[15] = regs->r15;
  record->regs[dwarf_rip] = scratch->ip;
  record->returned = scratch->returned;
  record->kernel_frames = stack->kernel_frames;
  for (int i = 0; i < max_kernel_frames; ++i) record->kernel[i] = stack->pcs[i];
  struct trampolines pending = trampolines_of(task);
  u32 returns = 0;
  for (; returns < max_copied_returns && pending.next; ++returns) {
    struct return_instance* instance = (void*)pending.next;
    record->pending[returns].slot = BPF_CORE_READ(instance, stack);
    record->pending[returns].address = BPF_CORE_READ(instance, orig_ret_vaddr);
    pending.next = (u64)BPF_CORE_READ(instance, next);
  }
  record->returns = returns;
  // Page by page: the stack ends somewhere, and buffers on it may never have been touched.
  u32 bytes = 0, at = 0, missing = 0, limit = config.copy_bytes;
  // Above where the first thread's stack began are the program's arguments and environment.
  u64 begin = BPF_CORE_READ(task, mm, start_stack) + 64;
  if (regs->sp < begin && begin - regs->sp < limit) limit = begin - regs->sp;
  for (int i = 0; i < max_copy_bytes / 4096 && at < limit; ++i) {
    u32 piece = 4096 - ((regs->sp + at) & 4095);
    if (piece > limit - at) piece = limit - at;
    if (at > max_copy_bytes - 4096) break;
    asm volatile("%0 &= 0xffff" : "+r"(at));
    long failed = bpf_probe_read_user(record->stack + at, piece & 4095 ? piece & 4095 : 4096,
                                      (void*)(regs->sp + at));
    at += piece;
    if (failed)
      missing |= 1u << i;
    else
      bytes = at;
  }
  record->bytes = bytes;
  record->missing = missing;
  u32 size = __builtin_offsetof(struct copy_record, stack) + bytes;
  if (size > sizeof(*record)) size = sizeof(*record);
  long error = bpf_ringbuf_output(&ring, record, size, wake_if_filling());
  copy->busy = 0;
  return error ? 0 : key;
}

// May a stack that met code unknown here be copied? Not when the ring is filling up.
ALWAYS_INLINE int may_copy(struct code_slot* slot, u32 stop) {
  if (!slot || (stop != stop_no_mapping && stop != stop_no_table)) return 0;
  if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > 2 * config.wake_bytes) return 0;
  u32 left = slot->copies;
  return left && __sync_val_compare_and_swap(&slot->copies, left, left - 1) == left;
}

// Fills in the user part of the stack; returns the hash.
__attribute__((noinline)) u64 walk_user_stack(u32 number, u64 hash) {
  struct scratch* scratch = scratch_at(number);
  if (!scratch) return 0;
  struct stack_record* stack = &scratch->stack;
  struct walk* walk = &scratch->walk;
  u32 base = stack->kernel_frames;
  u32 n = 0;
  if (base > max_kernel_frames) base = max_kernel_frames;
  walk->at.stop = stop_too_deep;
  for (; n < max_frames && n < config.max_depth; ++n) {
    int done = step(walk);
    if (!(done & step_frame)) break;
    stack->pcs[base + n] = walk->address;
    hash = mix(hash, walk->address);
    if (!(done & step_more)) {
      ++n;
      break;
    }
  }
  stack->frames = n;
  stack->stop = walk->at.stop;
  return hash;
}

// Sends a stack that user space does not know yet. Returns its key, or a note.
__attribute__((noinline)) u64 announce(u32 number, u64 hash) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct scratch* scratch = scratch_at(number);
  if (!scratch) return 0;
  struct stack_record* stack = &scratch->stack;
  if (globals.stack_table_is_full) return note_key(stack->space, note_stack_table_full);
  stack->type = record_stack;
  stack->hash = hash;
  stack->time = bpf_ktime_get_ns();
  stack->tgid = bpf_get_current_pid_tgid() >> 32;
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
  if (error == full) globals.stack_table_is_full = 1;
  // Another CPU may have announced the same stack just now; only a stack that is still not there
  // has found no room.
  if (error && !bpf_map_lookup_elem(&sums, &hash))
    return note_key(stack->space, note_stack_table_full);
  return hash;
}

// The user's part of capture(): `stack` has its space and its kernel frames, whose hash is `hash`.
__attribute__((noinline)) u64 capture_user(u32 number, u32 code, u32 entry, u64 hash) {
  struct scratch* scratch = scratch_at(number);
  if (!scratch) return 0;
  struct stack_record* stack = &scratch->stack;
  u32 space = stack->space;
  struct task_struct* task = bpf_get_current_task_btf();
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  struct code_slot* slot = code_of(code, space);
  // Not on the program's own stack, of which there are 512 bytes for all functions together.
  struct walk* walk = &scratch->walk;
  walk->at.ip = regs->ip;
  walk->at.sp = regs->sp;
  walk->at.bp = regs->bp;
  walk->at.bx = regs->bx;
  walk->at.bx_is = bx_value;
  walk->at.exact = 1;
  walk->at.guessed = 0;
  walk->list = slot ? slot->list : 0;
  walk->at_entry = entry;
  walk->pending = trampolines_of(task);
  if (!entry && task->utask) leave_uprobes_page(task, walk);
  scratch->ip = walk->at.ip;
  scratch->returned = !walk->at.exact;
  if (config.stacks == stacks_copy) {
    u64 key = send_copy(number, entry, 0);
    if (key) COUNT(copied, 1);
    return key ? key : note_key(space, note_ring_full);
  }
  hash = walk_user_stack(number, hash);
  hash = (hash | 1ULL << 63) & ~(1ULL << 62);
  if (may_copy(slot, stack->stop)) {
    u64 key = send_copy(number, entry, 0);
    if (key) {
      COUNT(copied, 1);
      return key;
    }
  }
  count_walk(stack->frames, stack->stop);
  u64 key = bpf_map_lookup_elem(&sums, &hash) ? hash : announce(number, hash);
  if (config.check_every && key == hash && bpf_get_prandom_u32() % config.check_every == 0)
    send_copy(number, entry, hash);
  return key;
}

// Takes the user stack of the current task and makes sure that user space knows it. `entry`: the
// task is at a function's first instruction. Returns the key for account(): what stands for the
// stack, or a note when it could not be announced.
ALWAYS_INLINE u64 capture(void* ctx, struct process* process, u32 entry) {
  u32 number = claim_scratch();
  struct scratch* scratch = scratch_at(number);
  if (!scratch) return note_key(process->space, note_no_state);
  struct stack_record* stack = &scratch->stack;
  // Mixed like an address: else neighbouring addresses in two spaces could make one hash.
  u64 hash = mix(0, process->space);
  stack->space = process->space;
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

ALWAYS_INLINE struct sum* sum_of(u64 key) {
  if (key >> 63) return bpf_map_lookup_elem(&sums, &key);
  struct sum* sum = bpf_map_lookup_elem(&notes, &key);
  if (sum) return sum;
  struct sum empty = {};
  insert(&notes, &key, &empty);
  return bpf_map_lookup_elem(&notes, &key);
}

// Adds to one column of a stack.
ALWAYS_INLINE void account(u64 key, u32 column, s64 value) {
  if (key >> 62 == 3) {
    struct amount_record amount = {
        .type = record_amount, .column = column, .key = key, .value = value};
    if (bpf_ringbuf_output(&ring, &amount, sizeof(amount), wake_if_filling())) {
      COUNT(event_drops, 1);
      if (column == 0 && value > 0) COUNT(event_drop_bytes, value * config.column_bytes);
    }
    return;
  }
  struct sum* sum = sum_of(key);
  if (sum && column < columns) __sync_fetch_and_add(&sum->value[column], (u64)value);
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
