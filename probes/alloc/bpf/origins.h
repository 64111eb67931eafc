// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Explains frees of blocks that are not in the table: blocks that a process inherited from its
// parent, and frees by the allocator's own code. The rest is counted, or sent as a candidate.
#pragma once

#include "check.h"

// births: space -> birth, which tells whose memory the space began with. The table evicts the least
// recently used entry.
struct birth {
  u32 parent;  // the space that was copied; 0: none, this one began with exec
  u32 forker;  // the thread that called fork()
  u64 time;
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 8192);
  __type(key, u32);
  __type(value, struct birth);
} births SEC(".maps");

// Calls of a function from the code of its own allocator, two in each glibc. User space finds them
// when it attaches.
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 1024);
  __type(key, struct own_call);
  __type(value, u32);
} own_calls SEC(".maps");

// The number of calls of each probed function, by the function's number.
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

// Whether the allocator's own code calls. When a thread ends, glibc passes all that the thread's
// cache still holds to free(): blocks that the program freed long ago, and the cache itself, which
// the program never allocated.
ALWAYS_INLINE int is_own_call(struct pt_regs* ctx, struct call_shape shape) {
  u64 caller = 0;
  if (bpf_probe_read_user(&caller, sizeof(caller), (void*)ctx->sp)) return 0;
  struct own_call call = {.function = shape.function, .distance = (s32)(caller - ctx->ip)};
  return bpf_map_lookup_elem(&own_calls, &call) != 0;
}

enum { most_ancestors = 8, longest_fork_ns = 1000000000 };
enum origin { origin_unknown, origin_inherited, origin_freed };

// Whether a block was freed before the fork. fork() copies the memory some time before its event
// comes. So a free by another thread of the parent shortly before the event may have come after the
// copy.
ALWAYS_INLINE int was_freed_before(const struct freed* freed, const struct birth* birth) {
  if (freed->thread == birth->forker) return freed->time < birth->time;
  return freed->time + longest_fork_ns < birth->time;
}

// What the ancestors of a process know of an address that the process frees but did not allocate.
// Fills in `known` unless the result is origin_unknown.
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

// `freed` tells of the first free; without a stack in it, the address was never allocated.
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

// Whether a free of an address that is not in the live table should be reported. An address that
// no table knows is remarkable only in a program that was watched from its first instruction on.
__attribute__((noinline)) int is_remarkable(const struct block_key* at, u32 from_exec) {
  if (!at) return 0;
  struct block_key key = *at;
  if (from_exec || bpf_map_lookup_elem(&freed_blocks, &key)) return 1;
  struct freed known = {};
  return origin_of(&key, &known) != origin_unknown;
}

// Sends what the address was: freed already, or never allocated. An inherited block is only
// remembered as freed. A function of its own, so that it does not share a stack frame with
// capture().
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
