// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The maps and globals of every probe, and the few operations that every program needs. Define
// `struct probe_state` first (capture.h).
#pragma once

#include "kernel_structs.h"
#include "shared.h"
#include "walk.h"

char license_name[] SEC("license") = "Dual BSD/GPL";

const volatile struct config config = {};

struct thread {
  struct probe_state state;
};

// State per thread, kept with the task itself. Before 6.2 it is kept by pid_tgid instead: there the
// look-up fails if it interrupts another one on the same CPU, and programs on uprobes can be
// preempted.
struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct thread);
} task_threads SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 65536);
  __type(key, u64);
  __type(value, struct thread);
} threads SEC(".maps");

// All zeros, the initial state of a thread: the value is larger than a program's stack.
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

// Preallocated: otherwise adding a stack can fail although the table has room (see insert()), and
// its first event would be lost.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 131072);  // user space sets it before load
  __type(key, u64);
  __type(value, struct sum);
} sums SEC(".maps");

// All zeros, the initial sum: the stacks of nested functions have no room for it.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct sum);
} new_sum SEC(".maps");

// The sums of notes have a table of their own, so that they have room when the stacks' table is
// full.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 65536);
  __type(key, u64);
  __type(value, struct sum);
} notes SEC(".maps");

// Where a walk is.
struct walking {
  u64 record;  // of an interpreter's run, which the walk has to meet next; 0 = none
  u64 loop;    // the frame of an interpreter's loop, to be taken behind the functions it runs
  u64 hash;
  u64 before_last;  // the hash, before the last frame
  u64 core;         // Ruby: the loop's own frame, taken with it; `loop` is then its caller's
  u64 core_begin, core_bytes;  // Ruby: the code of the loop; 0 = none
  u64 java_low, java_bytes;    // the memory for Java's code; 0 = the process has none
  struct java_frame java;      // the frame that was taken last
  struct java_chunk chunk;     // the part of Java's heap where the walk is
  u32 number;                  // of the scratch
  u32 v8;                      // the process's interpreter is V8
  u32 php;                     // it is PHP, whose functions could be read
  u32 frames_on_stack;         // Java: before the first one in its heap
  u64 hash_on_stack;           // the same
  u32 at;                      // in stack.pcs
  u32 frames;
};

// Where a stack is assembled. Not per CPU: programs on uprobes can be preempted, so a buffer is
// claimed and given back.
struct scratch {
  u32 busy;
  u32 returned;    // as in copy_record
  u64 ip;          // where the user's part begins
  u64 first_hash;  // of the stack before that
  u32 code;        // the process's code slot
  u32 pad;
  struct walk walk;
  struct walking walking;
  struct stack_record stack;
  // These two are last, as instructions reach 32 KiB, and programs have no room for pointers.
  struct script_chain chain;
  // V8: of the frames.
  struct v8_site sites[max_script_items];
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
  // Read at once: what is loaded through a pointer of the kernel's is dear to verify.
  struct pt_regs regs;
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

// The only globals there, so that user space finds them at the start of .bss.
struct globals globals = {};
struct object_globals object_globals SEC(".data.object") = {};

// The type of a record whose figures belong to this object's probe.
#define OF_PROBE(type) ((type) | config.sender)

// Programs on uprobes may be preempted by another task on the same CPU, so even per-CPU counters
// need an atomic addition.
// Adds to a word of the counters. A function, as many places count: the verifier looks at it once.
__attribute__((noinline)) u32 count(u32 word, u64 n) {
  u32 zero = 0;
  u64* words = bpf_map_lookup_elem(&counters, &zero);
  if (words && word < sizeof(struct counters) / sizeof(u64)) __sync_fetch_and_add(&words[word], n);
  return 0;
}
#define COUNT(field, n) count(__builtin_offsetof(struct counters, field) / sizeof(u64), n)

ALWAYS_INLINE u64 note_key(u32 space, enum note note) { return (u64)space << 8 | note; }

// The traced process that runs now, or null.
ALWAYS_INLINE struct process* current_process(void) {
  u32 tgid = bpf_get_current_pid_tgid() >> 32;
  struct process* process = bpf_map_lookup_elem(&processes, &tgid);
  return process && !process->waits_for_exec && globals.armed ? process : 0;
}

enum { exists = -17 /* EEXIST */, full = -7 /* E2BIG */ };

// Adds an entry. Apart from a full table, that fails only for a moment, when a burst has used up
// the kernel's stock of map elements; an interrupt right after refills it.
ALWAYS_INLINE long insert(void* map, const void* key, const void* value) {
  long error = 0;
#pragma clang loop unroll(disable)
  for (int attempt = 0; attempt < 8; ++attempt) {
    error = bpf_map_update_elem(map, key, value, BPF_NOEXIST);
    if (!error || error == exists || error == full) break;
  }
  return error;
}

// State of the running thread, or null if it has none yet.
ALWAYS_INLINE struct thread* known_thread(void) {
  if (config.task_storage)
    return bpf_task_storage_get(&task_threads, bpf_get_current_task_btf(), 0, 0);
  u64 id = bpf_get_current_pid_tgid();
  return bpf_map_lookup_elem(&threads, &id);
}

// The same, created if missing; null if there is no room.
ALWAYS_INLINE struct thread* this_thread(void) {
  struct thread* thread = known_thread();
  if (thread) return thread;
  if (config.task_storage)
    return bpf_task_storage_get(&task_threads, bpf_get_current_task_btf(), 0,
                                BPF_LOCAL_STORAGE_GET_F_CREATE);
  u64 id = bpf_get_current_pid_tgid();
  u32 zero = 0;
  struct thread* empty = bpf_map_lookup_elem(&new_thread, &zero);
  if (empty) insert(&threads, &id, empty);
  return bpf_map_lookup_elem(&threads, &id);
}

ALWAYS_INLINE u64 wake_if_filling(void) {
  return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > config.wake_bytes ? BPF_RB_FORCE_WAKEUP
                                                                         : BPF_RB_NO_WAKEUP;
}
