// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// The live table: every live block with the key of the stack that allocated it, and the sums per
// stack.
//
// The idea: sums are kept in the kernel and change with each event, so a free subtracts exactly
// what its allocation added, and user space need not see either. The table is keyed by (space,
// address). The thread that deletes an entry owns the block, so threads that race count it once.
// An address that is allocated again proves an unseen free: the old block is taken out and counted.
// Cost: one hash insertion per allocation, one look-up and one deletion per free, and for each live
// block an entry with 72 bytes of key and value, which the kernel makes when the block comes.
#pragma once

#include "../../bpf/account.h"
#include "../../bpf/capture.h"
#include "block_events.h"
#include "sampling.h"

// Columns of a sum. The variance of column n is in column first_variance + n.
enum { live, live_count, total, total_count };

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 1 << 20);  // user space sets it before load
  __type(key, struct block_key);
  __type(value, struct block);
} blocks SEC(".maps");

// Pools, whose blocks are freed together: the last block of each; block.next leads to the others.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 65536);
  __type(key, struct block_key);  // the pool's address
  __type(value, u64);
} pools SEC(".maps");

// Takes a block out of the table. False if there is none, or another thread was faster.
ALWAYS_INLINE int taken(struct block_key* key, struct block* block) {
  struct block* found = bpf_map_lookup_elem(&blocks, key);
  if (!found) return 0;
  *block = *found;
  return bpf_map_delete_elem(&blocks, key) == 0;
}

// With events: the blocks that are inside a realloc(), which are not in the table, so that a
// checkpoint has them. An entry comes before its block leaves the table, and goes after it was told
// what became of the block. The lowest bits of the block's number are in key.pad.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 1);  // user space sets it before load
  __type(key, struct block_key);
  __type(value, struct block);
} moving SEC(".maps");

// The same for a realloc(). settle() must follow.
ALWAYS_INLINE int taken_to_move(struct block_key* key, struct block* block) {
  if (!own.events) return taken(key, block);
  struct block* found = bpf_map_lookup_elem(&blocks, key);
  if (!found) return 0;
  *block = *found;
  struct block_key at = {.address = key->address, .space = key->space, .pad = block->number};
  // A checkpoint would lack the block.
  if (insert(&moving, &at, block)) lose_event();
  if (bpf_map_delete_elem(&blocks, key) == 0) return 1;
  bpf_map_delete_elem(&moving, &at);
  return 0;
}

ALWAYS_INLINE void settle(u64 address, u32 space, const struct block* block) {
  if (!own.events) return;
  struct block_key at = {.address = address, .space = space, .pad = block->number};
  bpf_map_delete_elem(&moving, &at);
}

enum change { block_is_new, block_is_live, block_is_gone };

ALWAYS_INLINE void add_to(struct sum* sum, u64 key, u32 column, u64 value) {
  if (sum)
    __sync_fetch_and_add(&sum->value[column], value);
  else
    account(key, column, value);
}

// Adds a block to the totals of a stack if it is new, and to the live figures when it enters the
// table. Subtracts it from the live figures when it leaves the table.
__attribute__((noinline)) int enter(u64 key, const struct block* block, u32 change) {
  if (!block) return 0;
  // The figures of copied stacks go to user space.
  struct sum* sum = is_copy_key(key) ? 0 : sum_of(key);
  // The verifier of 6.1 rejects what clang makes of "!is_copy_key(key)".
  if (!sum && key >> 62 != 3) return 0;
  s64 sign = change == block_is_gone ? -1 : 1;
  u32 column = change == block_is_new ? total : live;
  add_to(sum, key, column, sign * (s64)block->weight);
  add_to(sum, key, column + 1, sign * (s64)block->count);
  if (block->weight == block->size && block->count == 1) return 0;
  add_to(sum, key, first_variance + column, sign * (s64)variance_of(block));
  add_to(sum, key, first_variance + column + 1, sign * (s64)block->count * (block->count - 1));
  return 1;
}

__attribute__((noinline)) int put(const struct block_key* at, const struct block* given) {
  if (!at || !given) return 0;
  // Before 6.2 the verifier accepts neither a key nor a value behind a function's argument: copy.
  struct block_key key = *at;
  struct block block = *given;
  long error = insert(&blocks, &key, &block);
  if (error == exists) {
    // The address is allocated again, so the old block is not live any more: its free was not seen
    // (a custom free path, or a skipped probe).
    struct block old;
    if (taken(&key, &old)) {
      enter(old.hash, &old, block_is_gone);
      say_end(&old, key.space, 0);
      COUNT(unseen_frees, 1);
      COUNT(unseen_free_bytes, old.size);
    }
    error = insert(&blocks, &key, &block);
  }
  if (error) {
    COUNT(live_full_events, 1);
    COUNT(live_full_bytes, block.size);
    enter(note_key(key.space, note_live_table_full), &block, block_is_live);
    return 0;
  }
  enter(block.hash, &block, block_is_live);
  return 1;
}

ALWAYS_INLINE void count_freed(const struct block* block) {
  COUNT(freed, 1);
  COUNT(freed_bytes, block->size);
  enter(block->hash, block, block_is_gone);
}

// `stack`: the key of the free's stack, or 0.
ALWAYS_INLINE void on_freed(const struct block* block, u32 space, u64 stack) {
  count_freed(block);
  say_end(block, space, stack);
}

ALWAYS_INLINE void join_pool(u64 pool, struct block_key* key, struct block* block) {
  struct block_key at = {.address = pool, .space = key->space};
  u64* last = bpf_map_lookup_elem(&pools, &at);
  if (last) {
    block->next = *last;
    *last = key->address;
  } else if (insert(&pools, &at, &key->address)) {
    COUNT(own[alloc_pools_cut], 1);
  }
}

struct emptying {
  struct block_key key;
  u64 stack;
};
static int free_next(u32 turn, struct emptying* emptying) {
  struct block block;
  if (!emptying->key.address || !taken(&emptying->key, &block)) return 1;
  on_freed(&block, emptying->key.space, emptying->stack);
  emptying->key.address = block.next;
  return 0;
}

// Frees all blocks of a pool.
__attribute__((noinline)) int empty_pool(u32 space, u64 pool, u64 stack) {
  struct block_key at = {.address = pool, .space = space};
  u64* last = bpf_map_lookup_elem(&pools, &at);
  if (!last) return 0;
  struct emptying emptying = {.key = {.address = *last, .space = space}, .stack = stack};
  bpf_map_delete_elem(&pools, &at);
  bpf_loop(1 << 23, free_next, &emptying, 0);
  // A block that is not in the table cuts the chain: the blocks behind it cannot be found.
  if (emptying.key.address) COUNT(own[alloc_pools_cut], 1);
  return 1;
}
