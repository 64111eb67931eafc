// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Tells stacks apart whose addresses are the same, but not their code: a library that is unloaded
// may leave its addresses to another one.
//
// Where code was unmapped is noted for each space. A frame there counts in the stack's hash with
// its address and with what is mapped there now, which the kernel is asked for and `learnt` keeps.
// Stacks of a program that unmaps no code cost one comparison more.
#pragma once

#include "learn.h"

struct unmapped_code {
  u32 count;  // of ranges, and of those for which there was no room
  u32 pad;
  struct {
    u64 start, end;
  } ranges[max_unmapped_ranges];
};
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 65536);
  __type(key, u32);  // space
  __type(value, struct unmapped_code);
} unmapped_code SEC(".maps");

// Too large for a program's stack.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct unmapped_code);
} no_unmapped_code SEC(".maps");

// Notes that code at [start, end) is gone. Ranges that touch become one; what finds no room widens
// the last one, which costs time only.
__attribute__((noinline)) int note_unmapped(struct code_slot* slot, u64 start, u64 end) {
  u32 zero = 0;
  if (!slot) return 0;
  u32 space = slot->space;
  struct unmapped_code* unmapped = bpf_map_lookup_elem(&unmapped_code, &space);
  if (!unmapped) {
    struct unmapped_code* none = bpf_map_lookup_elem(&no_unmapped_code, &zero);
    if (none) bpf_map_update_elem(&unmapped_code, &space, none, BPF_NOEXIST);
    unmapped = bpf_map_lookup_elem(&unmapped_code, &space);
  }
  if (!unmapped) return 0;
  u32 at = max_unmapped_ranges;
  for (u32 i = 0; i < max_unmapped_ranges && at == max_unmapped_ranges; ++i)
    if (start <= unmapped->ranges[i].end && unmapped->ranges[i].start <= end) at = i;
  if (at == max_unmapped_ranges) {
    at = __sync_fetch_and_add(&unmapped->count, 1);
    if (at < max_unmapped_ranges) unmapped->ranges[at].start = start;
  }
  if (at > max_unmapped_ranges - 1) at = max_unmapped_ranges - 1;
  if (unmapped->ranges[at].start > start) unmapped->ranges[at].start = start;
  if (unmapped->ranges[at].end < end) *(volatile u64*)&unmapped->ranges[at].end = end;
  *(volatile u32*)&slot->has_unmapped = 1;
  return 1;
}

ALWAYS_INLINE void forget_unmapped(u32 space) { bpf_map_delete_elem(&unmapped_code, &space); }

ALWAYS_INLINE int is_unmapped(const struct unmapped_code* unmapped, u64 address) {
  for (u32 i = 0; i < max_unmapped_ranges; ++i)
    if (address >= unmapped->ranges[i].start && address < unmapped->ranges[i].end) return 1;
  return 0;
}

// What tells the code at an address from other code that was there.
__attribute__((noinline)) u64 code_there(u32 number, u32 code_slot, u64 address) {
  struct scratch* scratch = scratch_at(number);
  struct code_slot* slot = bpf_map_lookup_elem(&code_slots, &code_slot);
  if (!scratch || !slot) return 0;
  // If the kernel cannot be asked: whatever was mapped after the last time that code was unmapped.
  u64 since = mix(*(volatile u32*)&slot->unmaps, *(volatile u32*)&slot->voided);
  struct learnt_set* set = learnt_of(scratch->stack.space);
  if (!config.asks || !set) return since;
  struct learnt_code code = {};
  // See learn().
  __sync_fetch_and_add(&slot->learning, 1);
  u64 tag = tag_of(slot);
  int known = find_learnt(set, tag, address, &code) < learnt_ways;
  if (!known && ask_kernel(bpf_get_current_task_btf(), address, &code)) {
    code.tag = tag;
    code.check = check_of(&code);
    u32 place = __sync_fetch_and_add(&set->next, 1);
    set->codes[place & (learnt_ways - 1)] = code;
    known = 1;
  }
  __sync_fetch_and_add(&slot->learning, -1);
  if (!known) return since;
  return code.inode ? mix(mix(0, code.inode), code.start) : 1;
}

struct turns_in {
  struct scratch* scratch;
  struct unmapped_code* unmapped;
  u32 number;
  u32 code;
};

static int take_turn(u32 at, struct turns_in* in) {
  struct stack_record* stack = &in->scratch->stack;
  u32 place = stack->kernel_frames + at;
  if (at >= stack->frames || place >= max_kernel_frames + max_frames) return 1;
  u64 word = stack->pcs[place];
  if (script_language(word)) return 0;
  u64 address = word & exact_address ? word & ~exact_address : word - 1;
  if (is_unmapped(in->unmapped, address))
    in->scratch->walking.hash =
        mix(in->scratch->walking.hash, code_there(in->number, in->code, address));
  return 0;
}

// Goes on with the hash of a stack that may go through code which took the place of other code.
__attribute__((noinline)) u64 hash_turns(u32 number, u64 hash) {
  struct scratch* scratch = scratch_at(number);
  if (!scratch) return hash;
  u32 space = scratch->stack.space;
  struct turns_in in = {.scratch = scratch, .number = number, .code = scratch->code};
  in.unmapped = bpf_map_lookup_elem(&unmapped_code, &space);
  if (!in.unmapped) return hash;
  scratch->walking.hash = hash;
  bpf_loop(max_frames, take_turn, &in, 0);
  return scratch->walking.hash;
}
