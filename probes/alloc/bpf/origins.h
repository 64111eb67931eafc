// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Frees of blocks that a process has from its parent, and frees that an allocator makes of its own.
#pragma once

#include "check.h"

// Whose memory a space began with: births: space -> birth. The least recently used ones make room.
struct birth {
  u32 parent;  // 0: none, it began with exec
  u32 forker;  // thread that called fork()
  u64 time;
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 8192);
  __type(key, u32);
  __type(value, struct birth);
} births SEC(".maps");

// Calls of a function from the code of its own allocator. User space finds them when it attaches.
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);  // a glibc has two of them
  __uint(max_entries, 1024);
  __type(key, struct own_call);
  __type(value, u32);
} own_calls SEC(".maps");

// How often each probed function was called, by its number.
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);  // user space sets it before load
  __type(key, u32);
  __type(value, u64);
} function_calls SEC(".maps");

ALWAYS_INLINE void count_call(u32 function) {
  u64* calls = bpf_map_lookup_elem(&function_calls, &function);
  if (calls) __sync_fetch_and_add(calls, 1);
}

ALWAYS_INLINE void after_exec(u32 space, struct mm_struct* mm) {
  struct birth birth = {.time = bpf_ktime_get_ns()};
  bpf_map_update_elem(&births, &space, &birth, BPF_ANY);
}
ALWAYS_INLINE void after_fork(u32 space, u32 parent_space) {
  struct birth birth = {
      .parent = parent_space, .forker = bpf_get_current_pid_tgid(), .time = bpf_ktime_get_ns()};
  bpf_map_update_elem(&births, &space, &birth, BPF_ANY);
}

// glibc's free() gets all that a thread's cache still holds when the thread ends: blocks that the
// program has freed long ago, and the cache itself, which nobody has asked for.
ALWAYS_INLINE int is_own_call(struct pt_regs* ctx, struct call_shape shape) {
  u64 caller = 0;
  if (bpf_probe_read_user(&caller, sizeof(caller), (void*)ctx->sp)) return 0;
  struct own_call call = {.function = shape.function, .distance = (s32)(caller - ctx->ip)};
  return bpf_map_lookup_elem(&own_calls, &call) != 0;
}

enum { most_ancestors = 8, longest_fork_ns = 1000000000 };
enum origin { origin_unknown, origin_inherited, origin_freed };

// Whether what was freed was so before the fork. The copy of the memory is older than the event
// that tells of it, so what other threads of the parent did shortly before may have been done after
// it.
ALWAYS_INLINE int was_freed_before(const struct freed* freed, const struct birth* birth) {
  if (freed->thread == birth->forker) return freed->time < birth->time;
  return freed->time + longest_fork_ns < birth->time;
}

// What the ancestors of a process know of an address that it frees, and has not allocated itself.
// `known` is filled in unless the result is origin_unknown.
__attribute__((noinline)) int origin_of(const struct block_key* at, struct freed* known) {
  if (!at || !known) return origin_unknown;
  struct block_key key = *at;
  for (int i = 0; i < most_ancestors; ++i) {
    u32 space = key.space;
    struct birth* birth = bpf_map_lookup_elem(&births, &space);
    if (!birth || !birth->parent) return origin_unknown;
    key.space = birth->parent;
    struct block* block = bpf_map_lookup_elem(&blocks, &key);
    if (block && (!own.ages || block->time_ns < birth->time)) {
      known->allocating = block->hash;
      known->size = block->size;
      known->allocated_by = block->function;
      return origin_inherited;
    }
    struct freed* freed = own.check ? bpf_map_lookup_elem(&freed_blocks, &key) : 0;
    if (!freed) continue;
    *known = *freed;
    return was_freed_before(freed, birth) ? origin_freed : origin_inherited;
  }
  return origin_unknown;
}

// Counts a free, or the old block of a realloc(), that is not in the table.
__attribute__((noinline)) int count_missing(const struct block_key* at) {
  if (!at) return 0;
  struct block_key key = *at;
  struct freed known = {};
  if (origin_of(&key, &known) == origin_inherited)
    COUNT(inherited_frees, 1);
  else
    COUNT(free_misses, 1);
  return 0;
}

// `freed`: by whom before; null when it was never allocated.
__attribute__((noinline)) int say_missed(const struct block_key* at, const struct freed* freed,
                                         u64 here, u32 function, u64 since) {
  if (!at) return 0;
  struct candidate_record record = {.space = at->space,
                                    .kind = candidate_never_allocated,
                                    .freed_by = function,
                                    .address = at->address,
                                    .since = since,
                                    .freeing = here};
  if (freed && freed->freeing) {
    record.kind = candidate_double_free;
    record.allocated_by = freed->allocated_by;
    record.size = freed->size;
    record.allocating = freed->allocating;
    record.freed = freed->freeing;
    record.since = freed->time;
  }
  say_candidate(&record);
  return 1;
}

// Whether something is to be said of a free of what is in no table. Only of a program that was
// watched from its first instruction on an address that nobody knows is remarkable.
__attribute__((noinline)) int is_remarkable(const struct block_key* at, u32 from_exec) {
  if (!at) return 0;
  struct block_key key = *at;
  if (from_exec || bpf_map_lookup_elem(&freed_blocks, &key)) return 1;
  struct freed known = {};
  return origin_of(&key, &known) != origin_unknown;
}

// Says what it was: freed already, from before a fork or the run, or no block at all. On a stack of
// its own, as the program that calls it takes the stack of the free, too.
__attribute__((noinline)) int tell_missed(const struct block_key* at, u64 here, u32 function) {
  if (!at) return 0;
  struct block_key key = *at;
  struct freed known = {};
  struct freed* freed = bpf_map_lookup_elem(&freed_blocks, &key);
  enum origin origin = freed ? origin_freed : origin_of(&key, &known);
  if (freed) known = *freed;
  if (origin == origin_inherited) {
    struct block block = {
        .hash = known.allocating, .size = known.size, .function = known.allocated_by};
    return remember_freed(&key, &block, here, function);
  }
  u32 space = key.space;
  struct birth* birth = bpf_map_lookup_elem(&births, &space);
  return say_missed(&key, &known, here, function, birth ? birth->time : 0);
}

ALWAYS_INLINE void check_missed(struct pt_regs* ctx, struct process* process, struct block_key* key,
                                struct call_shape shape) {
  if (is_remarkable(key, process->from_exec))
    tell_missed(key, capture(ctx, process, 1), shape.function);
}
