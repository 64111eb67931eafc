// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Finds the row for an address in the table of its file, through a cache; and looks up the mappings
// that programs have learnt by themselves (learn.h).
#pragma once

#include "../unwind/row.h"
#include "kernel_structs.h"
#include "shared.h"

// User space maps both: it fills `rows`, and empties `rules`, the programs' cache, when ids repeat.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);  // user space sets it before load
  __type(key, u32);
  __type(value, struct row);
} rows SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1 << rule_cache_bits);
  __type(key, u32);
  __type(value, struct cached_rule);
} rules SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);  // written by user space only
  __uint(max_entries, max_files);
  __type(key, u64);
  __type(value, struct known_file);
} files SEC(".maps");

struct learnt_set {
  u32 next;  // counts writes; modulo learnt_ways, the entry to write next
  u32 pad;
  struct learnt_code codes[learnt_ways];
};
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, learnt_sets);
  __type(key, u32);
  __type(value, struct learnt_set);
} learnt SEC(".maps");

// Row for `offset` in rows[first, first + count), packed without its pc; 0 if there is none.
__attribute__((noinline)) u64 find_row(u32 first, u32 count, u32 offset) {
  u32 low = first, high = first + count;  // the row is at low or before high
  for (int i = 0; i < max_row_steps && low + 1 < high; ++i) {
    u32 middle = low + (high - low) / 2;
    struct row* row = bpf_map_lookup_elem(&rows, &middle);
    if (!row) return row_none;
    if (row->pc <= offset)
      low = middle;
    else
      high = middle;
  }
  struct row* row = bpf_map_lookup_elem(&rows, &low);
  if (!row || row->pc > offset) return row_none;
  return (u64)row->cfa << 16 | (u64)row->kind << 8 | row->rbp;
}

ALWAYS_INLINE struct cached_rule* place_in_cache(u64 hash) {
  u32 at = hash >> (64 - rule_cache_bits);
  return bpf_map_lookup_elem(&rules, &at);
}

ALWAYS_INLINE u64 hash_of_rule(u64 key) { return key * 0x9e3779b97f4a7c15ULL; }

// What the cache has for a key; 0 = nothing.
ALWAYS_INLINE u64 remembered(struct cached_rule* place, u64 key, u64 hash) {
  if (place->key != key) return 0;
  u64 rule = *(volatile u64*)&place->rule;
  return rule >> 32 << 32 == hash << 32 ? (u32)rule : 0;
}

ALWAYS_INLINE void remember(struct cached_rule* place, u64 key, u64 hash, u64 found) {
  *(volatile u64*)&place->rule = hash << 32 | found;
  *(volatile u64*)&place->key = key;
}

// Two programs may write one entry at once; a mixture of both fails this check.
ALWAYS_INLINE u64 check_of(const struct learnt_code* code) {
  u64 check = mix(mix(mix(code->tag, code->start), code->end), code->base);
  return mix(mix(check, code->inode), (u64)code->first_row << 32 | code->rows);
}

ALWAYS_INLINE u64 tag_of(const struct code_slot* slot) {
  return (u64)slot->space << 32 | *(volatile u32*)&slot->voided;
}

ALWAYS_INLINE struct learnt_set* learnt_of(u32 space) {
  u32 at = space & (learnt_sets - 1);
  return bpf_map_lookup_elem(&learnt, &at);
}

// The index of the entry that holds an address, which is copied to `code`; learnt_ways = none.
ALWAYS_INLINE u32 find_learnt(struct learnt_set* set, u64 tag, u64 address,
                              struct learnt_code* code) {
  for (u32 i = 0; i < learnt_ways; ++i) {
    struct learnt_code* each = &set->codes[i];
    if (each->tag != tag || address < each->start || address >= each->end) continue;
    *code = *each;
    if (check_of(code) == code->check && code->tag == tag && address >= code->start &&
        address < code->end)
      return i;
  }
  return learnt_ways;
}

// Like search() in walk.h, but in the mappings learnt under this tag. The cache's keys are here
// places in tables, which never move, so they are valid in all processes and for the whole run.
__attribute__((noinline)) u64 learnt_rule(u64 tag, u64 address) {
  u64 none = (u64)stop_no_mapping << 32;
  struct learnt_code code;
  struct learnt_set* set = learnt_of(tag >> 32);
  if (!set || find_learnt(set, tag, address, &code) == learnt_ways) return none;
  if (code.rows == code_frame_pointer) return row_fp << 8;
  if (code.rows == code_no_table) return (u64)stop_no_table << 32;
  u64 offset = address - code.base;
  if (offset >> 32) return none;
  u64 key = 1ULL << 63 | (u64)code.first_row << 32 | offset;
  u64 hash = hash_of_rule(key);
  struct cached_rule* place = place_in_cache(hash);
  if (!place) return none;
  u64 known = remembered(place, key, hash);
  if (known) return known;
  u64 found = find_row(code.first_row, code.rows, offset);
  if (!found) return none;
  remember(place, key, hash, found);
  return found;
}

// Whether a part of [start, end) was ever learnt of a space, as far as that is still there.
__attribute__((noinline)) int is_learnt(u32 space, u64 start, u64 end) {
  struct learnt_set* set = learnt_of(space);
  for (u32 i = 0; set && i < learnt_ways; ++i) {
    struct learnt_code* each = &set->codes[i];
    if (each->tag >> 32 == space && each->start < end && start < each->end) return 1;
  }
  return 0;
}
