// capture(): from user registers to the hash of a call stack that user space knows. Every *.bpf.c
// includes this after its `struct probe_state` (what the probe keeps per thread).
//
// A distinct stack crosses the ring buffer once ("announce"); after that only its hash is used.
// This version walks frame pointers. To replace the walk, replace walk_user_stack() alone.
#pragma once

#include "kernel.h"
#include "shared.h"

char license_name[] SEC("license") = "GPL";

const volatile struct config config = {};

struct thread {
  struct probe_state state;
  struct stack_record stack;  // scratch for the stack being taken
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

// User registers a walk begins with.
struct user_regs {
  u64 ip, sp, bp;
  u32 entry;  // the instruction pointer is at a function entry: *sp is its return address
};

ALWAYS_INLINE struct user_regs regs_at_kernel_entry(struct task_struct* task) {
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  return (struct user_regs){.ip = regs->ip, .sp = regs->sp, .bp = regs->bp, .entry = 0};
}

// While a return probe is pending, the return address on the stack is the kernel's trampoline; the
// kernel keeps the true one in a list ordered from the innermost frame out. Tail calls leave
// several entries with one stack address; the last of those has the true one.
//
// Functions that are not static are verified once, by themselves, with unknown arguments: so the
// loop over frames below costs the verifier a few instructions a turn instead of all of theirs.
struct trampolines {
  u64 next;  // struct return_instance*
};

__attribute__((noinline)) u64 true_return_address(struct trampolines* list, u64 slot, u64 address) {
  if (!list) return address;
  for (int i = 0; i < 8 && list->next; ++i) {
    struct return_instance* instance = (void*)list->next;
    u64 stack = BPF_CORE_READ(instance, stack);
    if (stack > slot) break;
    if (stack == slot) address = BPF_CORE_READ(instance, orig_ret_vaddr);
    list->next = (u64)BPF_CORE_READ(instance, next);
  }
  return address;
}

ALWAYS_INLINE struct trampolines trampolines_of(struct task_struct* task) {
  struct uprobe_task* utask = task->utask;
  return (struct trampolines){utask ? (u64)BPF_CORE_READ(utask, return_instances) : 0};
}

// Is there a call instruction right before this address? e8 rel32, or ff /2 with any operand of 1
// to 6 bytes (Intel SDM, CALL).
ALWAYS_INLINE int follows_call(u64 address) {
  u8 code[8];
  if (bpf_probe_read_user(code, sizeof(code), (void*)(address - 8))) return 0;
  if (code[3] == 0xe8) return 1;
  for (int i = 1; i < 7; ++i)
    if (code[i] == 0xff && (code[i + 1] & 0x38) == 0x10) return 1;
  return 0;
}

ALWAYS_INLINE u64 mix(u64 hash, u64 word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
  return hash ^ hash >> 32;
}

// Where a walk is.
struct walk {
  u64 bp, low;  // next frame pointer; it must not lie below `low`
  u64 address;  // return address found by the last step
  u32 stop, pad;
  struct trampolines list;
};

// One frame up the chain of saved frame pointers; 0 at its end. A frame pointer must be aligned and
// lie above the one before: where code keeps none, rbp holds anything, and a wrong frame is worse
// than a marked end.
__attribute__((noinline)) int step(struct walk* walk) {
  u64 frame[2];  // saved frame pointer, return address
  if (!walk) return 0;
  u64 bp = walk->bp;
  if (bp == 0) {
    walk->stop = stop_end;
    return 0;
  }
  if (bp & 7 || bp < walk->low) {
    walk->stop = stop_no_frame_pointer;
    return 0;
  }
  if (bpf_probe_read_user(frame, sizeof(frame), (void*)bp)) {
    walk->stop = stop_unreadable;
    return 0;
  }
  u64 address = frame[1];
  if (walk->list.next) address = true_return_address(&walk->list, bp + 8, address);
  if (address == 0) {
    walk->stop = stop_end;
    return 0;
  }
  walk->address = address;
  walk->low = bp + 16;
  walk->bp = frame[0];
  return 1;
}

// Fills in the user part of `stack`; returns the hash.
static __attribute__((noinline)) u64 walk_user_stack(struct stack_record* stack, struct walk* walk,
                                                     u64 ip, u64 hash) {
  u32 base = stack->kernel_frames;
  u32 n = 1;
  if (base > max_kernel_frames) base = max_kernel_frames;
  stack->pcs[base] = ip;
  hash = mix(hash, ip);
  walk->stop = stop_too_deep;
  for (; n < max_frames; ++n) {
    if (!step(walk)) break;
    stack->pcs[base + n] = walk->address;
    hash = mix(hash, walk->address);
  }
  stack->frames = n;
  stack->stop = walk->stop;
  return hash;
}

// Takes the stack of the current task and makes sure that user space knows it. Returns the key for
// account(): the stack's hash, or a note when the stack could not be announced.
ALWAYS_INLINE u64 capture(void* ctx, struct task_struct* task, struct thread* thread, u32 space,
                          struct user_regs* regs) {
  struct stack_record* stack = &thread->stack;
  struct walk walk = {.bp = regs->bp, .low = regs->sp, .list = trampolines_of(task)};
  u64 top = 0, caller = 0, hash = space;

  stack->type = record_stack;
  stack->space = space;
  stack->kernel_frames = 0;
  if (config.kernel_stacks) {
    long bytes = bpf_get_stack(ctx, stack->pcs, max_kernel_frames * sizeof(u64),
                               config.kernel_skip & BPF_F_SKIP_FIELD_MASK);
    if (bytes > 0) stack->kernel_frames = (u64)bytes / sizeof(u64);
    for (int i = 0; i < max_kernel_frames && i < stack->kernel_frames; ++i)
      hash = mix(hash, stack->pcs[i]);
  }
  // The word on top of the stack is the return address at a function entry; in a function that has
  // pushed nothing (libc's system call wrappers) it is so too. User space decides by the unwind
  // tables which of the latter to believe; here only what cannot be one is left out.
  if (!bpf_probe_read_user(&top, sizeof(top), (void*)regs->sp)) {
    caller = true_return_address(&walk.list, regs->sp, top);
    if (!regs->entry && !follows_call(caller)) caller = 0;
  }
  stack->caller = caller;
  stack->entry = regs->entry;
  hash = walk_user_stack(stack, &walk, regs->ip, mix(hash, caller)) | 1ULL << 63;

  if (bpf_map_lookup_elem(&sums, &hash)) return hash;
  if (globals.stack_table_is_full) return note_key(space, note_stack_table_full);
  stack->hash = hash;
  stack->time = bpf_ktime_get_ns();
  stack->tgid = bpf_get_current_pid_tgid() >> 32;
  bpf_probe_read_kernel_str(stack->comm, sizeof(stack->comm), task->group_leader->comm);
  u32 words = stack->kernel_frames + stack->frames;
  if (words > max_kernel_frames + max_frames) words = max_kernel_frames + max_frames;
  u64 flags = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > config.wake_bytes ? BPF_RB_FORCE_WAKEUP
                                                                              : BPF_RB_NO_WAKEUP;
  // Announce first: if that fails, the stack stays unknown and its next event tries again.
  u32 size = __builtin_offsetof(struct stack_record, pcs) + words * sizeof(u64);
  if (size > sizeof(*stack)) size = sizeof(*stack);
  if (bpf_ringbuf_output(&ring, stack, size, flags)) return note_key(space, note_ring_full);
  struct sum empty = {};
  long error = insert(&sums, &hash, &empty);
  if (error == full) globals.stack_table_is_full = 1;
  // Another CPU may have announced the same stack just now; only a stack that is still not there
  // has found no room.
  if (error && !bpf_map_lookup_elem(&sums, &hash)) return note_key(space, note_stack_table_full);
  return hash;
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
  }
}
